import { join } from "node:path";
import { hostArchitecture } from "../../cli/build/runtime.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import { type CommandOutput, runCommand } from "./command.ts";

const BUILD_MS = 5 * 60_000;

/** What is built. */
export interface DistOptions {
  /** The folder of the sources. */
  readonly sources: string;
  /** Where the files go. */
  readonly out: string;
  /** Public keys, 32 bytes each. */
  readonly releaseKeys: readonly Uint8Array[];
  /** Further arguments of the build. */
  readonly more?: readonly string[];
}

/** Runs the build that makes `dist/`, with the lab's runtime where there is one. */
export async function buildDist(
  { sources, out, releaseKeys, more = [] }: DistOptions,
): Promise<CommandOutput> {
  const keys = releaseKeys.flatMap((key) => ["--release-key", encodeBase64(key)]);
  const args = ["run", "-A", "--frozen", "cli/build.ts", "--out", out, ...keys, ...more];
  return await runCommand(Deno.execPath(), args, {
    cwd: sources,
    env: await labRuntime(),
    timeoutMs: BUILD_MS,
  });
}

/** The runtime of the lab, where the machine has one and names no other. */
export async function labRuntime(): Promise<Record<string, string>> {
  const parts = Deno.env.get("PBX_LAB");
  if (Deno.env.has("DENORT_BIN") || parts === undefined) return {};
  const machine = hostArchitecture() === "arm64" ? "arm64" : "x64";
  for await (const { name } of Deno.readDir(parts)) {
    if (name.startsWith("denort-") && name.endsWith(`-${machine}`)) {
      return { DENORT_BIN: join(parts, name) };
    }
  }
  return {};
}
