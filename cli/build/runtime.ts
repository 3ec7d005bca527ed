import type { Architecture } from "./options.ts";

/** A `deno` command line and the runtime that it joins programs with; undefined: it downloads its own. */
export interface Compiler {
  readonly command: readonly [string, ...string[]];
  readonly runtime: string | undefined;
  /** For people: what the program is made with. */
  readonly description: string;
}

/** How Deno calls the machines. */
export const TARGETS: Readonly<Record<Architecture, string>> = {
  amd64: "x86_64-unknown-linux-gnu",
  arm64: "aarch64-unknown-linux-gnu",
};

/** The machine's own architecture. */
export function hostArchitecture(): Architecture {
  return Deno.build.arch === "aarch64" ? "arm64" : "amd64";
}

/**
 * What compiles for `architecture`: the Deno that runs, which downloads the runtime of its own version,
 * or the version that a runtime named by hand belongs to. A runtime and a compiler of different versions
 * make a program that does not start, so the version is read out of the runtime.
 */
export async function findCompiler(architecture: Architecture): Promise<Compiler> {
  const own = Deno.env.get(`DENORT_BIN_${architecture.toUpperCase()}`);
  const general = architecture === hostArchitecture() ? Deno.env.get("DENORT_BIN") : undefined;
  const runtime = own ?? general;
  if (runtime === undefined) {
    const description =
      `Deno ${Deno.version.deno} and its runtime, downloaded where it is not cached`;
    return { command: [Deno.execPath()], runtime: undefined, description };
  }
  const bytes = await Deno.readFile(runtime).catch((cause: unknown) => {
    throw new Error(`the runtime ${runtime} cannot be read: ${String(cause)}`);
  });
  const found = inspectRuntime(bytes);
  if (found === null) {
    throw new Error(
      `${runtime} is no Deno runtime (denort) for Linux: it names no version of Deno`,
    );
  }
  if (found.architecture !== architecture) {
    throw new Error(`the runtime ${runtime} is for ${found.architecture}, not for ${architecture}`);
  }
  const command: [string, ...string[]] = found.version === Deno.version.deno
    ? [Deno.execPath()]
    : ["npx", "-y", `deno@${found.version}`];
  return { command, runtime, description: `Deno ${found.version} and the runtime ${runtime}` };
}

/** Reads version and machine out of a runtime (an ELF program); null where it is none. */
export function inspectRuntime(
  bytes: Uint8Array,
): { readonly version: string; readonly architecture: Architecture } | null {
  const isElf64 = [0x7f, 0x45, 0x4c, 0x46, 2].every((byte, index) => bytes[index] === byte);
  const machine = (bytes[18] ?? 0) | (bytes[19] ?? 0) << 8;
  // EM_X86_64 and EM_AARCH64 of elf(5).
  const architecture = machine === 62 ? "amd64" : machine === 183 ? "arm64" : null;
  if (!isElf64 || architecture === null) return null;
  // The name that the runtime gives itself in requests.
  const text = new TextDecoder("latin1").decode(bytes);
  const version = /Deno\/([0-9]+\.[0-9]+\.[0-9]+)/.exec(text)?.[1];
  return version === undefined ? null : { version, architecture };
}
