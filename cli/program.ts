import { ownHash } from "../adapters/node/own_hash.ts";
import { fileURLToPath } from "node:url";
import type { ProgramInfo } from "../core/agent/program_info.ts";
import type { Arch } from "../core/protocol/enroll.ts";
import type { Entry } from "./entry.ts";
import { VERSION } from "./version.ts";

/**
 * What runs here. `startedAt`: milliseconds since the epoch. `root`: with one, what the machine below it
 * starts is its own affair, and may be replaced whatever runs here.
 */
export function programInfo(entry: Entry, startedAt: number, root?: string): ProgramInfo {
  // Hashed while the agent gets going; a failure is told to whoever needs the hash.
  const sha256 = hashOfProgram();
  sha256.catch(() => undefined);
  return {
    version: VERSION,
    arch: arch(),
    startedAt: new Date(startedAt).toISOString(),
    releaseKeys: entry.releaseKeys,
    ...(Deno.build.standalone || root !== undefined ? {} : {
      irreplaceable: "this one runs from its sources and does not replace itself: update those",
    }),
    sha256: () => sha256,
  };
}

function arch(): Arch {
  switch (Deno.build.arch) {
    case "x86_64":
      return "amd64";
    case "aarch64":
      return "arm64";
    default:
      throw new Error(`no release is built for the architecture ${Deno.build.arch}`);
  }
}

/** The hash of the compiled program; run from its sources, that of the entry's module. */
async function hashOfProgram(): Promise<string> {
  return await ownHash(Deno.build.standalone ? Deno.execPath() : fileURLToPath(Deno.mainModule));
}
