import { parseArgs } from "node:util";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import { isEd25519PublicKey } from "../../core/protocol/public_key_check.ts";
import { fail, ok, type Result } from "../../core/result.ts";

/** The machines that a program is built for, as releases name them (protocol §6). */
export const ARCHITECTURES = ["amd64", "arm64"] as const;
/** One of them. */
export type Architecture = (typeof ARCHITECTURES)[number];

/** What a build is asked for. */
export interface BuildOptions {
  readonly architectures: readonly Architecture[];
  /** Whether an architecture that cannot be built here fails the build. */
  readonly mustHaveAll: boolean;
  /** Ed25519 public keys, 32 bytes each: none or two. */
  readonly releaseKeys: readonly Uint8Array[];
  readonly out: string;
  /** Where the files of `out` will be published, without a slash at the end; a placeholder without one. */
  readonly downloadUrl: string | undefined;
  /** What the portal signs its answers with, base64: at most two; stand in the user-data. */
  readonly portalKeys: readonly string[];
}

/** What `--help` prints. */
export const BUILD_USAGE = `usage: deno task build [options]

Bundles the agent and compiles it into one program, with everything that installs it.

  --arch ARCH           amd64 or arm64; can be repeated (default: both, what cannot be built is said)
  --all                 both, and fail where one cannot be built
  --release-key BASE64  public release key; twice, or not at all: then it takes no release
  --download-url URL    https folder where the files will be published; stands in the installers
  --portal-key BASE64   what the portal signs its answers with; once or twice; stands in the user-data
  --out DIR             default: dist
  --help                this text

  DENORT_BIN            the runtime that programs are made with, for the machine that builds;
                        DENORT_BIN_AMD64 and DENORT_BIN_ARM64 for one architecture
`;

/** Reads the arguments; the error is for people. */
export function parseBuildOptions(
  args: readonly string[],
): Result<BuildOptions | "help", string> {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        arch: { type: "string", multiple: true },
        all: { type: "boolean" },
        "release-key": { type: "string", multiple: true },
        "download-url": { type: "string" },
        "portal-key": { type: "string", multiple: true },
        out: { type: "string" },
        help: { type: "boolean" },
      },
    }));
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
  if (values.help) return ok("help");
  const asked = values.arch ?? [];
  const unknown = asked.find((name) => !ARCHITECTURES.some((known) => known === name));
  if (unknown !== undefined) return fail(`--arch ${unknown}: only amd64 and arm64 are built`);
  if (values.all && asked.length > 0) return fail("--all builds both: leave out --arch");
  const keys = parseReleaseKeys(values["release-key"] ?? []);
  if (!keys.ok) return keys;
  const url = values["download-url"];
  if (url !== undefined && !/^https:\/\/[A-Za-z0-9][A-Za-z0-9.:/_~%+-]*$/.test(url)) {
    return fail(`--download-url ${url}: must be a plain https URL without query`);
  }
  const portalKeys = values["portal-key"] ?? [];
  for (const text of portalKeys) {
    const key = decodeBase64(text);
    if (key === null || !isEd25519PublicKey(key)) {
      return fail(`--portal-key ${text}: is not the base64 of a proper Ed25519 public key`);
    }
  }
  if (portalKeys.length > 2) return fail("--portal-key: give one or two");
  return ok({
    portalKeys,
    architectures: ARCHITECTURES.filter((name) => asked.length === 0 || asked.includes(name)),
    mustHaveAll: values.all === true || asked.length > 0,
    releaseKeys: keys.value,
    out: values.out ?? "dist",
    downloadUrl: url?.replace(/\/+$/, ""),
  });
}

/** Two different ones or none: with one alone, its loss would strand every agent. */
function parseReleaseKeys(texts: readonly string[]): Result<readonly Uint8Array[], string> {
  const keys: Uint8Array[] = [];
  for (const text of texts) {
    const key = decodeBase64(text);
    if (key?.length !== 32) return fail(`--release-key ${text}: is not the base64 of 32 bytes`);
    if (!isEd25519PublicKey(key)) {
      const why = "is of small order or not in its canonical form, so that anyone could sign";
      return fail(`--release-key ${text}: ${why}; make one with 'release keygen'`);
    }
    keys.push(key);
  }
  if (keys.length !== 0 && keys.length !== 2) {
    return fail(`--release-key: give two (one can then replace the other) or none`);
  }
  if (texts.length === 2 && texts[0] === texts[1]) {
    return fail("--release-key: the two must be different keys");
  }
  return ok(keys);
}
