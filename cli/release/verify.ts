import { join } from "node:path";
import { verifyRelease } from "../../core/protocol/dsse.ts";
import type { Release } from "../../core/protocol/release.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { programName } from "../build/program_name.ts";
import { ARCHITECTURES } from "../build/options.ts";
import { hashFile } from "./hash_file.ts";

/** What is checked, and with which public keys. */
export interface VerifyRequest {
  readonly manifest: string;
  readonly version: string;
  readonly publicKeys: readonly Uint8Array[];
  /** Where the programs lie that the manifest is to describe; not looked at without it. */
  readonly dist: string | undefined;
}

/** Checks a manifest as an agent does, and its programs where they are at hand. The error is for people. */
export async function verifyManifest(request: VerifyRequest): Promise<Result<Release, string>> {
  const { manifest, version, publicKeys, dist } = request;
  const release = await verifyRelease(await Deno.readFile(manifest), version, publicKeys);
  if (!release.ok) return fail(release.error.message);
  if (dist === undefined) return ok(release.value);
  const { agent } = release.value;
  for (const architecture of ARCHITECTURES) {
    const artifact = agent.artifacts[architecture];
    if (artifact === undefined) continue;
    const path = join(dist, programName(agent.version, architecture));
    const { sha256, size } = await hashFile(path);
    if (sha256 !== artifact.sha256 || size !== artifact.size) {
      return fail(`${path} is not the program that the manifest describes`);
    }
  }
  return ok(release.value);
}
