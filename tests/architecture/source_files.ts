import { join } from "node:path";

/** The folders whose TypeScript belongs to the repository's own code. */
export const CODE_FOLDERS = ["core", "adapters", "simulate", "cli", "fixtures", "tests"] as const;

const NOT_OURS: ReadonlySet<string> = new Set([".git", "node_modules", "dist", "coverage"]);

/** The repository's folder, with a slash at its end. */
export const REPOSITORY: string = new URL("../../", import.meta.url).pathname;

/** Every file below `folder` of `root` as a path of the repository, sorted. */
export async function filesBelow(root: string, folder = ""): Promise<readonly string[]> {
  const files: string[] = [];
  for await (const entry of Deno.readDir(join(root, folder))) {
    if (NOT_OURS.has(entry.name)) continue;
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory) files.push(...await filesBelow(root, path));
    else if (entry.isFile) files.push(path);
  }
  return files.sort();
}

/** Every TypeScript file of the repository's own code, sorted. */
export async function sourceFiles(root: string): Promise<readonly string[]> {
  const files = await filesBelow(root);
  return files.filter((file) =>
    file.endsWith(".ts") && CODE_FOLDERS.some((folder) => file.startsWith(`${folder}/`))
  );
}
