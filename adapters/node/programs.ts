import * as fs from "node:fs/promises";
import type { Clock } from "../../core/ports/clock.ts";
import type { Programs } from "../../core/ports/programs.ts";
import { fail, ok } from "../../core/result.ts";
import { parentOf } from "../canonical_path.ts";
import { diskError } from "./disk_error.ts";
import { programFailed, type ProgramRun, runProgram } from "./program.ts";
import { createRoot } from "./root.ts";
import { versionByUnit } from "./version_unit.ts";

/** Limit of `version`, milliseconds: a start from a cold and slow disk included. */
const VERSION_MS = 30_000;

/**
 * The agent's programs on this machine. `root` (`--root DIR`) is put before every path; a lab's machine
 * has no systemd of its own, so there they are run directly.
 */
export function createNodePrograms(
  options: { readonly root?: string; readonly clock: Clock },
): Programs {
  const at = createRoot(options.root);
  return {
    async version(path) {
      const { clock, root } = options;
      if (root === undefined) return await versionByUnit(path, { clock, timeoutMs: VERSION_MS });
      const run: ProgramRun = {
        path: at(path),
        args: ["version"],
        timeoutMs: VERSION_MS,
        clock,
      };
      const exit = await runProgram(run);
      if (!exit.ok) return fail({ ...exit.error, program: path });
      if (exit.value.code === 0) return ok(exit.value.stdout);
      return fail({ ...programFailed(run, exit.value), program: path });
    },
    async link(from, to) {
      const temporary = `${at(to)}.link`;
      try {
        await fs.rm(temporary, { force: true });
        await fs.link(at(from), temporary);
        await fs.rename(temporary, at(to));
        // Where both names are of one file already, a rename leaves the temporary one.
        await fs.rm(temporary, { force: true });
        await syncFolder(parentOf(at(to)));
        return ok(undefined);
      } catch (cause) {
        return fail(diskError(`link ${from} to`, to, cause));
      }
    },
  };
}

async function syncFolder(path: string): Promise<void> {
  const folder = await fs.open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
