import { decodeBase64 } from "../../core/protocol/base64.ts";
import { RotateRequest, rotationProof } from "../../core/protocol/rotate_key.ts";
import { verify } from "../../core/protocol/signing.ts";
import type { Signer } from "./authenticate.ts";
import type { Asker } from "./breach.ts";
import { faultOfKeys, isKeyTaken } from "./enroll.ts";
import { type Answer, json, refuse } from "./http/message.ts";
import { lookupIn } from "./memory.ts";
import type { Portal } from "./portal.ts";
import { readDocument } from "./read_document.ts";

/**
 * `POST /rotate-key` (protocol §7). The same rotation again is fine, with either key. Another one
 * replaces a rotation that was not confirmed: the agent may have lost the keys of that one.
 */
export function rotateKey(
  portal: Portal,
  asker: Asker,
  signer: Signer,
  body: Uint8Array,
): Answer {
  const document = readDocument(portal, asker, body, RotateRequest);
  if (!document.ok) return refuse(400, "invalid_request", document.error);
  const { public_keys: keys, proof } = document.value.value;
  const { agent } = signer;
  const fault = faultOfKeys(keys);
  if (fault !== null) return refuse(400, "invalid_request", fault);
  const key = decodeBase64(keys.signing) ?? new Uint8Array(0);
  const signature = decodeBase64(proof) ?? new Uint8Array(0);
  if (!(portal.verify ?? verify)(key, signature, rotationProof(agent.id, keys))) {
    return refuse(400, "invalid_proof", "proof is not by the new signing key over these keys");
  }
  if (keys.signing === agent.keys.signing && keys.sealing === agent.keys.sealing) {
    return json(200, {});
  }
  const own = [agent.keys.signing, agent.previous?.signing, ...agent.retired];
  if (own.includes(keys.signing) || isKeyTaken(portal, keys.signing, agent.id)) {
    return refuse(400, "key_reused", "public_keys.signing was in use before");
  }
  agent.retired.push(agent.keys.signing);
  if (signer.key === "current") agent.previous = agent.keys;
  agent.keys = keys;
  lookupIn(portal).note(agent);
  portal.touch();
  return json(200, {});
}
