import type { Clock } from "../../core/ports/clock.ts";
import type { Disk } from "../../core/ports/disk.ts";
import type { Machine, MachineProcess } from "../../core/ports/machine.ts";
import type { ProgramError } from "../../core/ports/systemd.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { BOOT_ID_FILE, parseBootId } from "./boot_id.ts";
import { parseControlGroups, parseProcessList } from "./process_list.ts";
import { programFailed, runProgram } from "./program.ts";

const TIMEOUT_MS = 30_000;
/** Thousands of processes with long command lines. */
const MAX_BYTES = 8 * 1_048_576;

/** Two programs that show processes, and how each is read. */
const LISTS: readonly ProcessList[] = [
  {
    // Part of systemd: every process of the machine is in one of its groups.
    path: "/usr/bin/systemd-cgls",
    args: ["--full", "--no-pager"],
    parse: parseControlGroups,
    endsWith: [0],
  },
  {
    // In a container a process can be in no group that is seen there. Ends with 1 where none matches.
    path: "/usr/bin/pgrep",
    args: ["--full", "--list-full", "k3s"],
    parse: parseProcessList,
    endsWith: [0, 1],
  },
];

interface ProcessList {
  readonly path: string;
  readonly args: readonly string[];
  readonly parse: (output: string) => readonly MachineProcess[];
  readonly endsWith: readonly number[];
}

/**
 * The machine that the agent runs on. The runtime itself asks the kernel for what it may; the boot ID
 * comes from `disk`, which has to read files of the kernel, and is asked for once: no process outlives
 * a boot.
 */
export function createNodeMachine(
  options: { readonly disk: Disk; readonly clock: Clock },
): Machine {
  const { disk, clock } = options;
  let bootId: string | null = null;

  async function readBootId(): Promise<string | null> {
    const read = await disk.read(BOOT_ID_FILE);
    return read.ok && read.value !== null
      ? parseBootId(new TextDecoder().decode(read.value))
      : null;
  }

  async function list(
    { path, args, parse, endsWith }: ProcessList,
  ): Promise<Result<readonly MachineProcess[], ProgramError>> {
    const run = { path, args, timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_BYTES, clock };
    const exit = await runProgram(run);
    if (!exit.ok) return exit;
    const { code, stdout } = exit.value;
    if (code === null || !endsWith.includes(code)) return fail(programFailed(run, exit.value));
    return ok(parse(stdout));
  }

  return {
    async facts() {
      bootId ??= await readBootId();
      return {
        bootId,
        uptimeSeconds: asked(() => Math.floor(Deno.osUptime())),
        kernel: asked(() => Deno.osRelease()),
        memoryAvailableBytes: asked(() => Deno.systemMemoryInfo().available),
        hostName: asked(() => Deno.hostname()),
      };
    },
    async processes() {
      const found = new Map<number, MachineProcess>();
      const lists = await Promise.all(LISTS.map(list));
      for (const one of lists) {
        if (one.ok) { for (const process of one.value) found.set(process.pid, process); }
      }
      const [whole] = lists;
      // pgrep alone would do too: it sees every process of the machine, or of the container.
      return whole?.ok === false && !lists.some(({ ok }) => ok) ? whole : ok([...found.values()]);
    },
  };
}

/** What the runtime says; null where it does not. */
function asked<T>(question: () => T): T | null {
  try {
    return question();
  } catch {
    return null;
  }
}
