import { dirname, join } from "node:path";
import { STATE_LAYOUT } from "./init_script.ts";

/** A file of the state partition, a copy of one of the host's, or a symbolic link; paths from its root. */
export type StateFile =
  & { readonly path: string; readonly mode?: number }
  & ({ readonly text: string | Uint8Array } | { readonly copyOf: string } | {
    readonly link: string;
  });

/** Lays out in `folder` what a state partition holds before its machine's first boot. */
export async function layOutState(folder: string, files: readonly StateFile[]): Promise<void> {
  for (const path of STATE_LAYOUT) await Deno.mkdir(join(folder, path), { recursive: true });
  for (const file of files) {
    const place = join(folder, file.path);
    await Deno.mkdir(dirname(place), { recursive: true });
    if ("link" in file) {
      await Deno.symlink(file.link, place);
      continue;
    }
    if ("copyOf" in file) await Deno.copyFile(file.copyOf, place);
    else if (typeof file.text === "string") await Deno.writeTextFile(place, file.text);
    else await Deno.writeFile(place, file.text);
    await Deno.chmod(place, file.mode ?? 0o644);
  }
}
