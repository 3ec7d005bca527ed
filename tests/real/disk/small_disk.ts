import { mustRun } from "../../lab/command.ts";

/** A file system of a few pages, mounted on a folder. */
export interface SmallDisk {
  /** Writes until nothing more fits. */
  fill(): Promise<void>;
  /** Gives the room back. */
  empty(): Promise<void>;
  /** Mounts it read-only, or writable again. */
  setReadOnly(readOnly: boolean): Promise<void>;
  unmount(): Promise<void>;
}

const FILLER = ".filler";
const PAGE = 4_096;

/** Mounts an empty tmpfs of `pages` (4 KiB each) on the folder, which is made where it is missing. */
export async function mountSmallDisk(folder: string, pages: number): Promise<SmallDisk> {
  await Deno.mkdir(folder, { recursive: true });
  const size = `size=${pages * PAGE},mode=0700`;
  await mustRun("mount", ["-t", "tmpfs", "-o", size, "pbx-agent-test", folder]);
  const filler = `${folder}/${FILLER}`;
  return {
    async fill() {
      const file = await Deno.open(filler, { append: true, create: true });
      try {
        while (true) await file.write(new Uint8Array(PAGE));
      } catch (error) {
        // ENOSPC is no class of its own in the runtime.
        if (!/ENOSPC|os error 28/.test(String(error))) throw error;
      } finally {
        file.close();
      }
    },
    async empty() {
      await Deno.remove(filler);
    },
    async setReadOnly(readOnly) {
      await mustRun("mount", ["-o", `remount,${readOnly ? "ro" : "rw"}`, folder]);
    },
    async unmount() {
      // Lazily: a program that a failed test left behind must not keep it.
      await mustRun("umount", ["-l", folder]);
    },
  };
}
