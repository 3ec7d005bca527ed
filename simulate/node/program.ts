import { createHash } from "node:crypto";
import type { FakeDisk } from "../../adapters/fake/disk.ts";
import { createFakePrograms } from "../../adapters/fake/programs.ts";
import { parentOf } from "../../core/state/paths.ts";
import type { Programs } from "../../core/ports/programs.ts";
import type { Artifacts } from "../../core/ports/artifact.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Disk } from "../../core/ports/disk.ts";
import type { Random } from "../../core/ports/random.ts";
import { fail, ok } from "../../core/result.ts";
import { type StepTimes, within } from "./times.ts";

/** A program of the simulation: the file that stands for it, with what a manifest says of it. */
export interface SimulatedProgram {
  readonly version: string;
  readonly bytes: Uint8Array;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** The program of a version. One whose version ends in `-broken` ends at once whenever it is started. */
export function programOf(version: string): SimulatedProgram {
  const bytes = new TextEncoder().encode(`pbx-agent ${version}\nrelease keys: none\n`);
  return { version, bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** The agent's programs as files; a link takes no room, as on a real disk. */
export function createPrograms(disk: FakeDisk): Programs {
  return {
    version: createFakePrograms(disk).version,
    async link(from, to) {
      const read = await disk.read(from);
      if (!read.ok) return read;
      if (read.value === null) {
        return fail({ code: "missing", path: to, message: `cannot link ${from} to ${to}` });
      }
      disk.put(to, read.value, PROGRAM_MODE);
      return await disk.syncDirectory(parentOf(to));
    },
  };
}

const PROGRAM_MODE = 0o755;

/** The version that a program's file stands for; the first one's where it is none. */
export function versionIn(text: string | null, first: string): string {
  return /^pbx-agent (\S+)$/m.exec(text ?? "")?.[1] ?? first;
}

/** Whether a version does not run. */
export function isBroken(version: string): boolean {
  return version.endsWith("-broken");
}

/**
 * Downloads of simulated programs, by URL. `isAlive` tells whether the process that fetches still runs.
 */
export function createDownloads(
  { clock, random, times, disk, programs, isAlive }: {
    readonly clock: Clock;
    readonly random: Random;
    readonly times: StepTimes;
    readonly disk: Disk;
    readonly programs: ReadonlyMap<string, SimulatedProgram>;
    readonly isAlive: () => boolean;
  },
): Artifacts {
  return {
    async fetch(artifact, path, { mode, signal, onProgress }) {
      await clock.sleep(within(times.download, random), signal);
      if (!isAlive()) return await new Promise<never>(() => {});
      if (signal?.aborted) return fail({ code: "stopped", message: "ended by the agent" });
      const program = programs.get(artifact.url);
      if (program === undefined) return fail({ code: "cut", message: "no connection" });
      const { bytes, sha256 } = program;
      if (bytes.length !== artifact.size) return fail({ code: "wrong_size", message: "its size" });
      if (sha256 !== artifact.sha256) return fail({ code: "wrong_hash", message: "its hash" });
      onProgress?.(bytes.length, bytes.length);
      const written = await disk.write(path, bytes, mode);
      if (written.ok) return ok(undefined);
      const { code, message } = written.error;
      return fail({ code: code === "full" ? "disk_full" : "disk", message });
    },
  };
}
