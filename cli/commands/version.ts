import { keyId } from "../../core/protocol/dsse.ts";
import type { Entry } from "../entry.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { print } from "../print.ts";
import { VERSION } from "../version.ts";

/**
 * `pbx-agent version`: two lines that an update compares before it trusts a new program (operations.md,
 * Own updates).
 */
export function version({ releaseKeys }: Entry): ExitCode {
  const keys = releaseKeys.length === 0 ? "none" : releaseKeys.map(keyId).join(" ");
  print("stdout", `pbx-agent ${VERSION}\nrelease keys: ${keys}\n`);
  return EXIT.OK;
}
