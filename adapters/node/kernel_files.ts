import type { Clock } from "../../core/ports/clock.ts";
import type { Disk } from "../../core/ports/disk.ts";
import { fail, ok } from "../../core/result.ts";
import { programFailed, type ProgramRun, runProgram } from "./program.ts";

/** What reads them: part of every Linux. */
const CAT = "/usr/bin/cat";
/** Far longer than the kernel takes. */
const TIMEOUT_MS = 10_000;
const DEFAULT_MAX_BYTES = 64 * 1024;
const OF_THE_KERNEL = /^\/(?:proc|sys)\//;

/**
 * The same disk, which also reads what the kernel shows below /proc and /sys: Deno lets only a program
 * with every permission open those, so a program of the system does. Binary content that is no UTF-8
 * does not come through whole.
 */
export function withKernelFiles(disk: Disk, clock: Clock): Disk {
  return {
    ...disk,
    async read(path, maxBytes = DEFAULT_MAX_BYTES) {
      if (!OF_THE_KERNEL.test(path)) return await disk.read(path, maxBytes);
      const run: ProgramRun = {
        path: CAT,
        args: [path],
        timeoutMs: TIMEOUT_MS,
        // One more shows that there is more.
        maxOutputBytes: maxBytes + 1,
        clock,
      };
      const exit = await runProgram(run);
      if (!exit.ok) return fail({ code: "io", path, message: exit.error.message });
      // In English, by the environment that programs get.
      if (/: No such file or directory\b/.test(exit.value.stderr)) return ok(null);
      if (exit.value.code !== 0) {
        return fail({ code: "io", path, message: programFailed(run, exit.value).message });
      }
      const bytes = new TextEncoder().encode(exit.value.stdout);
      if (bytes.length <= maxBytes) return ok(bytes);
      return fail({ code: "too_large", path, message: `${path} has more than ${maxBytes} bytes` });
    },
  };
}
