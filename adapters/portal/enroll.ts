import type { JsonObject } from "../../core/json.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import { isEd25519PublicKey, isX25519PublicKey } from "../../core/protocol/public_key_check.ts";
import { EnrollRequest, type PublicKeys } from "../../core/protocol/enroll.ts";
import { admitAgent } from "./admit_agent.ts";
import { type Asker, noteBreach } from "./breach.ts";
import { type Answer, json, refuse } from "./http/message.ts";
import { lookupIn } from "./memory.ts";
import { freshId, hashText, type Portal } from "./portal.ts";
import { readDocument } from "./read_document.ts";
import { isBinding, sealDocument } from "./seal_document.ts";
import { enrollPosition } from "../../core/protocol/secret_positions.ts";
import { type Cluster, clusterOf, type Token } from "./state.ts";

/** `POST /enroll` (protocol §3). `version` is the agent's, as its User-Agent says. */
export function enroll(
  portal: Portal,
  asker: Asker,
  body: Uint8Array,
  version: string,
): Answer {
  const document = readDocument(portal, asker, body, EnrollRequest);
  if (!document.ok) return refuse(400, "invalid_request", document.error);
  const request = document.value.value;
  const fault = faultOf(portal, request);
  if (fault !== null) return refuse(400, "invalid_request", fault);
  if (request.agent_version !== version) {
    noteBreach(portal, asker, "user_agent", "agent_version is not what User-Agent says");
  }

  const token = portal.state.tokens.get(hashText(request.token));
  // A token tells nobody which cluster it is for: the wrong one is as good as none.
  if (
    token === undefined || token.clusterId !== request.cluster_id ||
    token.nodeName !== request.node_name
  ) return refuse(401, "invalid_token", "there is no such token for this cluster and node");
  if (token.used !== null) return answerAgain(portal, token.used, token.serverId, request);
  if (token.expiresAt !== null && portal.now() >= token.expiresAt) {
    return refuse(401, "token_expired", "the token has expired");
  }
  if (token.serverId !== request.server_id) {
    return refuse(401, "server_mismatch", "the token is for another server");
  }
  const cluster = clusterOf(portal.state, token.clusterId);
  const expected = cluster.expectedImageSha256;
  if (expected !== null && expected !== request.boot_image_sha256) {
    return refuse(409, "image_mismatch", "the server has not booted the expected image");
  }
  if (lookupIn(portal).activeAgent(token.clusterId, token.nodeName) !== null) {
    return refuse(409, "conflict", "the node has an agent already; revoke that one first");
  }
  return admit(portal, token, cluster, request);
}

/** The second time a token is shown: the same answer for the same asker, and for nobody else. */
function answerAgain(
  portal: Portal,
  used: NonNullable<Token["used"]>,
  serverId: string,
  request: EnrollRequest,
): Answer {
  const same = used.keys.signing === request.public_keys.signing &&
    used.keys.sealing === request.public_keys.sealing && serverId === request.server_id;
  // A revoked identity is not handed out once more.
  if (!same || portal.state.agents.get(used.agentId)?.revoked !== false) {
    return refuse(401, "token_used", "the token was used before");
  }
  return json(200, { ...used.answer, time: portal.time() });
}

function admit(portal: Portal, token: Token, cluster: Cluster, request: EnrollRequest): Answer {
  const agentId = freshId(portal.random, "agent");
  const keys: PublicKeys = request.public_keys;
  const answer: JsonObject = {
    agent_id: agentId,
    cluster_id: token.clusterId,
    node_name: token.nodeName,
    ...sealDocument(cluster.bootstrap, keys.sealing, enrollPosition, portal) as JsonObject,
    ...(isBinding(cluster.bootstrap) ? { sealing: "bound" } : {}),
  };
  token.used = { agentId, keys, answer };
  admitAgent(portal, {
    id: agentId,
    clusterId: token.clusterId,
    nodeName: token.nodeName,
    serverId: token.serverId,
    arch: request.arch,
    keys,
  });
  portal.touch();
  return json(200, { ...answer, time: portal.time() });
}

/** What the schema cannot see, or null. */
function faultOf(portal: Portal, request: EnrollRequest): string | null {
  const fault = faultOfKeys(request.public_keys);
  if (fault !== null) return fault;
  const token = portal.state.tokens.get(hashText(request.token));
  const taken = isKeyTaken(portal, request.public_keys.signing, token?.used?.agentId ?? null);
  return taken ? "public_keys.signing: another agent has or had this key" : null;
}

/** Why two public keys cannot be an agent's, or null. */
export function faultOfKeys(keys: PublicKeys): string | null {
  for (const name of ["signing", "sealing"] as const) {
    const key = decodeBase64(keys[name]);
    if (key?.length !== 32) return `public_keys.${name}: must be base64 of 32 bytes`;
    const isKey = name === "signing" ? isEd25519PublicKey : isX25519PublicKey;
    if (!isKey(key)) {
      return `public_keys.${name}: is of small order or not in its canonical form`;
    }
  }
  return keys.signing === keys.sealing ? "public_keys: signing and sealing are the same" : null;
}

/** Whether an agent other than `except` has or had this signing key. */
export function isKeyTaken(portal: Portal, signing: string, except: string | null): boolean {
  const owner = lookupIn(portal).keyOwner(signing);
  return owner !== null && owner.id !== except;
}
