import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { REPOSITORY } from "./repository.ts";

/** An import map as Deno reads it. */
export interface ImportMap {
  readonly imports: Readonly<Record<string, string>>;
}

/**
 * deno.json's imports, with folders spelled out as import maps want them, and other files in the place of
 * some sources: `replaced` has their paths below the repository, each with the file that is taken instead.
 */
export async function importMapReplacing(
  replaced: Readonly<Record<string, string>>,
): Promise<ImportMap> {
  const config = JSON.parse(await Deno.readTextFile(join(REPOSITORY, "deno.json")));
  const imports: Record<string, string> = {};
  for (const [name, target] of Object.entries<string>(config.imports)) {
    imports[name] = target;
    imports[`${name}/`] = `${target.replace(/^npm:/, "npm:/")}/`;
  }
  for (const [source, file] of Object.entries(replaced)) {
    imports[pathToFileURL(join(REPOSITORY, source)).href] = pathToFileURL(file).href;
  }
  return { imports };
}
