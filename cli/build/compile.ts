import { runCommand } from "./command.ts";
import type { Architecture } from "./options.ts";
import { permissionFlags } from "./permissions.ts";
import { SIMULATOR_PERMISSION_FLAGS } from "./simulator_permissions.ts";
import { type Compiler, inspectRuntime, TARGETS } from "./runtime.ts";

/**
 * V8's own settings; ARCHITECTURE.md (Measured) has what each is worth. The last one refuses `eval` and
 * `new Function`: text never becomes code.
 */
export const V8_FLAGS = "--v8-flags=--max-semi-space-size=1,--no-opt,--no-maglev," +
  "--optimize-for-size,--disallow-code-generation-from-strings";
/** A fleet is worth compiling code for, and tens of thousands of agents have a large heap, MiB. */
const SIMULATOR_V8_FLAGS = "--v8-flags=--max-old-space-size=32768,--max-semi-space-size=64";

/**
 * Without `--no-code-cache` the program keeps compiled code in a file of a predictable name in the
 * temporary folder, which other users of the machine can write, and runs what it finds there.
 */
const FLAGS: readonly string[] = [
  ...["--quiet", "--no-check", "--no-config", "--no-lock", "--no-npm", "--no-code-cache"],
];

/** Stands in the program as the time of its one file, which would otherwise make every build differ. */
const FILE_TIME = new Date(0);

/**
 * Joins `bundle` with the compiler's runtime into one program at `output`; with `root`, for the machine of
 * a lab below that folder.
 */
export async function compileProgram(
  compiler: Compiler,
  architecture: Architecture,
  bundle: string,
  output: string,
  root?: string,
): Promise<void> {
  const flags = [V8_FLAGS, ...permissionFlags(root)];
  await compile(compiler, architecture, bundle, output, flags);
}

/** The same for the program that simulates, with its own permissions. */
export async function compileSimulator(
  compiler: Compiler,
  architecture: Architecture,
  bundle: string,
  output: string,
): Promise<void> {
  const flags = [SIMULATOR_V8_FLAGS, ...SIMULATOR_PERMISSION_FLAGS];
  await compile(compiler, architecture, bundle, output, flags);
}

async function compile(
  { command, runtime }: Compiler,
  architecture: Architecture,
  bundle: string,
  output: string,
  more: readonly string[],
): Promise<void> {
  await Deno.utime(bundle, FILE_TIME, FILE_TIME);
  const flags = [...FLAGS, ...more, "--target", TARGETS[architecture]];
  // Inherited, DENORT_BIN would be taken for every target.
  await runCommand([...command, "compile", ...flags, "--output", output, bundle], {
    env: { DENORT_BIN: runtime },
  });
  const made = inspectRuntime(await Deno.readFile(output))?.architecture;
  if (made !== architecture) throw new Error(`what was compiled is for ${made ?? "nothing known"}`);
  await Deno.chmod(output, 0o755);
}
