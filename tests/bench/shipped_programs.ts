import { basename, dirname, join } from "node:path";
import { compileProgram } from "../../cli/build/compile.ts";
import { findCompiler, hostArchitecture } from "../../cli/build/runtime.ts";
import { PROGRAM_FILE } from "../../core/state/paths.ts";
import { bundleProgram } from "../lab/agent_program.ts";
import { MINIMAL_ENTRY } from "./minimal_program.ts";

/** Paths of compiled programs. */
export interface ShippedPrograms {
  readonly agent: string;
  readonly minimal: string;
}

/**
 * Compiles the lab's agent into its place below `root` and the minimal program into `folder`, with everything
 * that the build gives the program that ships. Null where no runtime is at hand: one would have to
 * be downloaded.
 */
export async function shippedPrograms(
  folder: string,
  root: string,
): Promise<ShippedPrograms | null> {
  if (!await nameRuntime()) return null;
  const machine = hostArchitecture();
  const compiler = await findCompiler(machine);
  const compile = async (entry: string, output: string) => {
    const bundle = join(folder, `${basename(output)}.js`);
    await bundleProgram(entry, bundle);
    await compileProgram(compiler, machine, bundle, output, root);
    return output;
  };
  // In its place, where it may read itself.
  const place = root + PROGRAM_FILE;
  await Deno.mkdir(dirname(place), { recursive: true });
  return {
    agent: await compile("cli/lab.ts", place),
    minimal: await compile(MINIMAL_ENTRY, join(folder, "minimal")),
  };
}

/** Whether there is a runtime: DENORT_BIN's, or the lab's, which then is named by it. */
async function nameRuntime(): Promise<boolean> {
  if (Deno.env.has("DENORT_BIN")) return true;
  const lab = Deno.env.get("PBX_LAB");
  if (lab === undefined) return false;
  const machine = hostArchitecture() === "arm64" ? "arm64" : "x64";
  for await (const { name } of Deno.readDir(lab)) {
    if (!name.startsWith("denort-") || !name.endsWith(`-${machine}`)) continue;
    Deno.env.set("DENORT_BIN", join(lab, name));
    return true;
  }
  return false;
}
