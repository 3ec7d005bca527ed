import { join } from "node:path";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import { runCommand } from "./command.ts";
import { importMapReplacing } from "./import_map.ts";
import { REPOSITORY } from "./repository.ts";

const ENTRY = "cli/main.ts";
/** The program that simulates, with the lab's release keys and the right to write a folder. */
export const SIMULATOR_ENTRY = "cli/simulate.ts";

/**
 * Bundles the shipped program into one file without imports, with `releaseKeys` in the place of
 * `cli/release_keys.ts`; the sources stay as they are. `work` is a folder for what it needs meanwhile,
 * `entry` another program of the repository's.
 *
 * `--platform browser` takes the ES module builds of the packages: the CommonJS build of `yaml` asks for
 * a Node.js module at run time and reads the environment.
 */
export async function bundleProgram(
  output: string,
  releaseKeys: readonly Uint8Array[],
  work: string,
  entry: string = ENTRY,
): Promise<void> {
  const keys = join(work, "release_keys.ts");
  await Deno.writeTextFile(keys, releaseKeysModule(releaseKeys));
  const importMap = join(work, "import_map.json");
  const replaced = await importMapReplacing({ "cli/release_keys.ts": keys });
  await Deno.writeTextFile(importMap, JSON.stringify(replaced));
  const flags = ["--quiet", "--minify", "--platform", "browser", "--import-map", importMap];
  await runCommand([Deno.execPath(), "bundle", ...flags, "--output", output, entry], {
    cwd: REPOSITORY,
  });
}

/** The source that takes the place of `cli/release_keys.ts`. */
export function releaseKeysModule(releaseKeys: readonly Uint8Array[]): string {
  const texts = releaseKeys.map((key) => JSON.stringify(encodeBase64(key)));
  return `export function builtInReleaseKeys(): readonly Uint8Array[] {
  return [${texts.join(", ")}].map((text) =>
    Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
}
`;
}
