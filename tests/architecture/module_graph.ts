import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** One import of one file: `target` is a path of the repository, `npm:NAME` or `node:NAME`. */
export type Import = {
  readonly file: string;
  readonly target: string;
  readonly isTypeOnly: boolean;
  /** By `import()`: loaded when that is reached, not with the file. */
  readonly isLazy: boolean;
};

type Resolved = { readonly specifier?: string; readonly error?: string };
type Dependency = {
  readonly specifier: string;
  readonly code?: Resolved;
  readonly type?: Resolved;
  readonly isDynamic?: boolean;
};
type Module = {
  readonly specifier: string;
  readonly error?: string;
  readonly dependencies?: readonly Dependency[];
};

/**
 * The imports of `files` (paths below `root`) as Deno itself resolves them. A file that cannot be
 * read and an import that does not resolve throw: an unseen edge would be an allowed one.
 */
export async function moduleGraph(
  root: string,
  files: readonly string[],
): Promise<readonly Import[]> {
  const base = pathToFileURL(root.endsWith("/") ? root : `${root}/`).href;
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(entry, files.map((file) => `import "${base}${file}";`).join("\n"));
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", "--config", join(root, "deno.json"), entry],
      cwd: root,
    }).output();
    if (!success) throw new Error(`deno info: ${new TextDecoder().decode(stderr)}`);
    const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as { modules: Module[] };
    return modules.filter(({ specifier }) => specifier.startsWith(base))
      .flatMap((module) => importsOf(module, base));
  } finally {
    await Deno.remove(entry);
  }
}

function importsOf(module: Module, base: string): readonly Import[] {
  const file = module.specifier.slice(base.length);
  if (module.error !== undefined) throw new Error(`${file}: ${module.error}`);
  return (module.dependencies ?? []).map(({ specifier, code, type, isDynamic }) => {
    const resolved = code ?? type;
    if (resolved?.specifier === undefined) {
      throw new Error(`${file}: cannot resolve "${specifier}": ${resolved?.error ?? "unknown"}`);
    }
    const target = nameOf(resolved.specifier, base);
    return { file, target, isTypeOnly: code === undefined, isLazy: isDynamic === true };
  });
}

function nameOf(specifier: string, base: string): string {
  if (specifier.startsWith(base)) return specifier.slice(base.length);
  const npm = /^npm:\/?(?<name>(@[^/]+\/)?[^/@]+)/.exec(specifier)?.groups?.["name"];
  return npm === undefined ? specifier : `npm:${npm}`;
}
