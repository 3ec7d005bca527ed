import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { importMapReplacing } from "../../cli/build/import_map.ts";
import { permissionFlags } from "../../cli/build/permissions.ts";
import { cacheDirectory } from "./cache_directory.ts";
import { mustRun } from "./command.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
/** The runtime that the lab offers, and the compiler of exactly its version. */
const LAB_DENO = "2.6.8";
const BUILD_TIMEOUT_MS = 5 * 60_000;

/** What a lab's program is made of. */
export interface AgentProgramOptions {
  /** The module that it starts, below the repository; the lab's agent where absent. */
  readonly entry?: string;
  /** The version that it says and reports; that of the sources where absent. */
  readonly version?: string;
  /** The folder of a lab's machine, for a program that is started with `--root`. */
  readonly root?: string;
}

/**
 * Builds the lab's agent into one program and gives its path. Built once for the same sources: the
 * bundle's hash names the file in the lab's cache.
 */
export async function buildAgentProgram(
  { entry = "cli/lab.ts", version, root }: AgentProgramOptions = {},
): Promise<string> {
  const cache = await cacheDirectory();
  const work = await Deno.makeTempDir({ dir: cache, prefix: "compile-" });
  try {
    const bundle = join(work, "agent.js");
    const importMap = version === undefined ? undefined : await importMapSaying(version, work);
    await bundleProgram(entry, bundle, importMap);
    const compiler = await findCompiler();
    // Those that ship: what they lack shows in every suite.
    const permissions = permissionFlags(root);
    const hash = createHash("sha256")
      .update(await Deno.readFile(bundle))
      .update(JSON.stringify([compiler.command, permissions]))
      .digest("hex");
    const program = join(cache, `pbx-agent-${hash.slice(0, 16)}`);
    if (await Deno.stat(program).then(() => true, () => false)) return program;
    const made = join(work, "pbx-agent");
    await compile(compiler, permissions, bundle, made);
    // Another run may have been faster, and be using it: the same sources give no same bytes here.
    await Deno.link(made, program).catch((error: unknown) => {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    });
    await removeOldPrograms(cache);
    return program;
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/**
 * One file without imports. `--platform browser` takes the ES module builds of the packages: the
 * CommonJS build of `yaml` asks for a Node.js module at run time and reads the environment.
 */
export async function bundleProgram(
  entry: string,
  output: string,
  importMap?: string,
): Promise<void> {
  const flags = ["bundle", "--quiet", "--minify", "--platform", "browser", "--output", output];
  if (importMap !== undefined) flags.push("--import-map", importMap);
  await mustRun(Deno.execPath(), [...flags, entry], {
    cwd: REPOSITORY,
    timeoutMs: BUILD_TIMEOUT_MS,
  });
}

/** An import map, in the folder `work`, that puts another version in the place of the sources' own. */
async function importMapSaying(version: string, work: string): Promise<string> {
  const module = join(work, "version.ts");
  await Deno.writeTextFile(module, `export const VERSION = ${JSON.stringify(version)};\n`);
  const importMap = join(work, "import_map.json");
  const replaced = await importMapReplacing({ "cli/version.ts": module });
  await Deno.writeTextFile(importMap, JSON.stringify(replaced));
  return importMap;
}

/** Each is 92 MB. A run that goes on elsewhere may still start one that it built. */
async function removeOldPrograms(cache: string): Promise<void> {
  const dayAgo = Date.now() - 24 * 60 * 60_000;
  for await (const { name } of Deno.readDir(cache)) {
    if (!name.startsWith("pbx-agent-")) continue;
    const { mtime } = await Deno.stat(join(cache, name));
    if (mtime !== null && mtime.getTime() < dayAgo) await Deno.remove(join(cache, name));
  }
}

/** A `deno` command line and the runtime that it joins programs with, if not its own. */
interface Compiler {
  readonly command: readonly [string, ...string[]];
  readonly runtime: string | undefined;
}

/**
 * `deno compile` downloads a runtime of its own version from Deno's site. A machine that reaches
 * only a package registry takes the lab's runtime instead, and the compiler of that version.
 */
async function findCompiler(): Promise<Compiler> {
  const lab = Deno.env.get("PBX_LAB");
  const machine = Deno.build.arch === "aarch64" ? "arm64" : "x64";
  for (const arch of lab === undefined ? [] : [machine, Deno.build.arch]) {
    const runtime = join(lab ?? "", `denort-${LAB_DENO}-${arch}`);
    const found = await Deno.stat(runtime).then((stat) => stat.isFile, () => false);
    if (found) return { command: ["npx", "-y", `deno@${LAB_DENO}`], runtime };
  }
  return { command: [Deno.execPath()], runtime: undefined };
}

async function compile(
  compiler: Compiler,
  permissions: readonly string[],
  bundle: string,
  output: string,
): Promise<void> {
  const [program, ...before] = compiler.command;
  const flags = ["compile", "--quiet", "--no-check", "--no-config", "--no-lock", "--no-npm"];
  // As in what ships: whatever makes code of text fails here.
  flags.push("--v8-flags=--disallow-code-generation-from-strings");
  try {
    await mustRun(program, [...before, ...flags, ...permissions, "--output", output, bundle], {
      timeoutMs: BUILD_TIMEOUT_MS,
      ...(compiler.runtime === undefined ? {} : { env: { DENORT_BIN: compiler.runtime } }),
    });
  } catch (error) {
    throw new Error(
      `the lab's agent could not be compiled. Either Deno's own runtime must be downloadable ` +
        `(dl.deno.land), or the folder that PBX_LAB names must hold denort-${LAB_DENO}-x64 (or ` +
        `-arm64): ${String(error)}`,
    );
  }
}
