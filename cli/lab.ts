/**
 * `deno task agent`: the same program for labs and tests. It trusts the two lab release keys, whose
 * private halves anybody can read in fixtures/, and therefore talks to a portal on loopback only. The
 * shipped entry can never be handed these keys.
 */
import keys from "../fixtures/lab-release-keys.json" with { type: "json" };
import { decodeBase64 } from "../core/protocol/base64.ts";
import { signingPublicKey } from "../core/protocol/signing.ts";
import { Secret } from "../core/secret.ts";
import { dispatch } from "./dispatch.ts";

if (import.meta.main) {
  const releaseKeys = keys.private_keys.map((text) => {
    const seed = decodeBase64(text);
    if (seed?.length !== 32) {
      throw new Error("fixtures/lab-release-keys.json: a key has no 32 bytes");
    }
    return signingPublicKey(new Secret<Uint8Array>(seed));
  });
  Deno.exit(await dispatch(Deno.args, { releaseKeys, lab: true }));
}
