import { dirname, join } from "node:path";
import { mustRun } from "../command.ts";

/** Light: an emulated processor unpacks it at every boot. */
const COMPRESSION = "-3";
const TIMEOUT_MS = 120_000;

/** Packs a folder, compressed, as the kernel unpacks it; several of them joined count as one. */
export async function packInitrd(folder: string, output: string): Promise<void> {
  // Written through a shell's pipe, as the archive is larger than what a test should hold in memory.
  const script =
    'find . -mindepth 1 | sort | cpio --quiet -o -H newc -R 0:0 --reproducible | zstd -q "$1" -o "$2"';
  await mustRun("/bin/sh", ["-c", script, "sh", COMPRESSION, output], {
    cwd: folder,
    timeoutMs: TIMEOUT_MS,
  });
}

/**
 * A file of an initrd, a copy of one of the host's, or a symbolic link; paths from the root, without the
 * slash that they begin with.
 */
export type InitrdFile =
  & { readonly path: string }
  & (
    | { readonly text: string; readonly executable?: boolean }
    | { readonly copyOf: string }
    | { readonly link: string }
  );

/** Packs a few files that come on top of what an initrd has already. */
export async function packFiles(files: readonly InitrdFile[], output: string): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "pbx-initrd-" });
  try {
    for (const file of files) {
      const place = join(folder, file.path);
      await Deno.mkdir(dirname(place), { recursive: true });
      if ("link" in file) await Deno.symlink(file.link, place);
      else if ("copyOf" in file) await Deno.copyFile(file.copyOf, place);
      else await Deno.writeTextFile(place, file.text, { mode: file.executable ? 0o755 : 0o644 });
    }
    await packInitrd(folder, output);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
