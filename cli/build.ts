/**
 * `deno task build`: from the sources to everything that a node is installed with. The same sources, keys
 * and runtime give the same bytes.
 */
import { join } from "node:path";
import { keyId } from "../core/protocol/dsse.ts";
import { assemble } from "./build/assemble.ts";
import { bundleProgram, SIMULATOR_ENTRY } from "./build/bundle.ts";
import { runCommand } from "./build/command.ts";
import { compileProgram, compileSimulator } from "./build/compile.ts";
import {
  type Architecture,
  BUILD_USAGE,
  type BuildOptions,
  parseBuildOptions,
} from "./build/options.ts";
import { programName, simulatorName } from "./build/program_name.ts";
import { findCompiler, hostArchitecture } from "./build/runtime.ts";
import { print } from "./print.ts";
import { VERSION } from "./version.ts";

/** Gives the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const options = parseBuildOptions(args);
  if (!options.ok) {
    print("stderr", `build: ${options.error}\n\n${BUILD_USAGE}`);
    return 2;
  }
  if (options.value === "help") {
    print("stdout", BUILD_USAGE);
    return 0;
  }
  // Beside its place, so that it gets there by a rename.
  const out = options.value.out.replace(/\/+$/, "");
  const work = `${out}.tmp`;
  await Deno.remove(work, { recursive: true }).catch(() => {});
  await Deno.mkdir(join(work, "out"), { recursive: true });
  try {
    if (!await build(options.value, work)) return 1;
    await Deno.remove(out, { recursive: true }).catch(() => {});
    await Deno.rename(join(work, "out"), out);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
  const names: string[] = [];
  for await (const { name } of Deno.readDir(out)) names.push(join(out, name));
  print("stdout", names.sort().map((name) => `${name}\n`).join(""));
  return 0;
}

/** Whether everything that has to be there was built. */
async function build(options: BuildOptions, work: string): Promise<boolean> {
  const { releaseKeys } = options;
  const keys = releaseKeys.length === 0 ? "none" : releaseKeys.map(keyId).join(" ");
  say(`pbx-agent ${VERSION}, release keys: ${keys}`);
  if (releaseKeys.length === 0) say("without release keys the program refuses every release");

  const bundle = join(work, "pbx-agent.js");
  await bundleProgram(bundle, releaseKeys, work);
  const simulatorBundle = join(work, "pbx-simulate.js");
  await bundleProgram(simulatorBundle, [], work, SIMULATOR_ENTRY);
  const built: Architecture[] = [];
  for (const architecture of options.architectures) {
    const program = join(work, "out", programName(VERSION, architecture));
    try {
      const compiler = await findCompiler(architecture);
      say(`${architecture}: ${compiler.description}`);
      await compileProgram(compiler, architecture, bundle, program);
      const simulator = join(work, "out", simulatorName(VERSION, architecture));
      await compileSimulator(compiler, architecture, simulatorBundle, simulator);
      if (architecture === hostArchitecture()) await checkProgram(program, keys);
      else say(`${architecture}: compiled, not started: this machine cannot run it`);
      built.push(architecture);
    } catch (error) {
      say(`${architecture}: NOT BUILT: ${error instanceof Error ? error.message : String(error)}`);
      say(
        `${architecture}: Deno's site must be reachable, or DENORT_BIN_${architecture.toUpperCase()} ` +
          "must name a runtime (denort) of that architecture",
      );
      if (options.mustHaveAll) return false;
    }
  }
  if (built.length === 0) return false;
  await assemble(join(work, "out"), built, options);
  return true;
}

/** Starts the program once: a runtime of another version makes one that does not start. */
async function checkProgram(program: string, keys: string): Promise<void> {
  const said = await runCommand([program, "version"]);
  const expected = `pbx-agent ${VERSION}\nrelease keys: ${keys}\n`;
  if (said !== expected) throw new Error(`the program says ${JSON.stringify(said)}`);
}

function say(line: string): void {
  print("stderr", `${line}\n`);
}

if (import.meta.main) {
  Deno.exit(
    await main(Deno.args).catch((error: unknown) => {
      say(`build: ${error instanceof Error ? error.message : String(error)}`);
      return 1;
    }),
  );
}
