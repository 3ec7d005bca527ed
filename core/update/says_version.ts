import { fail, ok, type Result } from "../result.ts";

/** What `pbx-agent version` says of itself. */
export interface SaidVersion {
  readonly version: string;
  /** IDs of its release keys; empty where it has none. */
  readonly keyIds: readonly string[];
}

/**
 * Reads what a new program printed (operations.md, Own updates): `pbx-agent <version>`, then `release
 * keys: <id> <id>` or `release keys: none`. The version must be the wanted one; the keys may be others,
 * which is how they change. The error is for people.
 */
export function readSaidVersion(output: string, wanted: string): Result<SaidVersion, string> {
  const [first = "", second = ""] = output.split("\n");
  const version = /^pbx-agent (\S+)$/.exec(first)?.[1];
  if (version === undefined) return fail(`it says '${first.slice(0, 80)}' for its version`);
  if (version !== wanted) return fail(`it says that it is version ${version.slice(0, 80)}`);
  const keys = /^release keys: (none|[0-9a-f]{16}(?: [0-9a-f]{16})*)$/.exec(second)?.[1];
  if (keys === undefined) return fail(`it says '${second.slice(0, 80)}' for its release keys`);
  return ok({ version, keyIds: keys === "none" ? [] : keys.split(" ") });
}
