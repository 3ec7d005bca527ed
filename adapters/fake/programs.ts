import type { Disk } from "../../core/ports/disk.ts";
import type { Programs } from "../../core/ports/programs.ts";
import { fail, ok } from "../../core/result.ts";
import { parentOf } from "../canonical_path.ts";

/** Programs on a fake disk: what stands in the file is what `version` prints; `exit N` fails. */
export function createFakePrograms(disk: Disk): Programs {
  return {
    async version(path) {
      const read = await disk.read(path);
      if (!read.ok || read.value === null) {
        return fail({ code: "missing", program: path, message: `${path} does not exist` });
      }
      const text = new TextDecoder().decode(read.value);
      if (!text.startsWith("exit ")) return ok(text);
      return fail({ code: "failed", program: path, message: `${path} version: ${text.trim()}` });
    },
    async link(from, to) {
      const read = await disk.read(from);
      if (!read.ok) return read;
      if (read.value === null) {
        return fail({ code: "missing", path: to, message: `cannot link ${from} to ${to}` });
      }
      const stat = await disk.stat(from);
      if (!stat.ok) return stat;
      const written = await disk.write(`${to}.link`, read.value, stat.value?.mode ?? 0o755);
      if (!written.ok) return written;
      const renamed = await disk.rename(`${to}.link`, to);
      return renamed.ok ? await disk.syncDirectory(parentOf(to)) : renamed;
    },
  };
}
