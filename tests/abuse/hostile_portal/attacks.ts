import { gzipSync } from "node:zlib";
import { keyOf } from "../../../adapters/portal/answer_key.ts";
import { type Answer, json, refuse } from "../../../adapters/portal/http/message.ts";
import { proveAnswer } from "../../../core/protocol/answer_signature.ts";
import { encodeBase64 } from "../../../core/protocol/base64.ts";
import { sign, signedBytes } from "../../../core/protocol/signing.ts";
import { Secret } from "../../../core/secret.ts";
import type { Asked, Attack } from "./middle.ts";

/** The agent of the man in the middle: the portal signs its answers as it does for any other. */
export interface OwnAgent {
  readonly id: string;
  readonly signing: Secret<Uint8Array>;
}

const OWN_KEY = keyOf(new Secret(new Uint8Array(32).fill(0x66)));

/** Orders of his own: a year ahead, and an operation that gives him the cluster. */
const ORDERS = {
  time: "2031-01-01T00:00:00Z",
  sealing: "bound",
  desired: null,
  desired_tag: null,
  operation: { id: "evil-1", kind: "diag.collect", params: { consent: true } },
};

/** What he answers, by name. Each is used for every request of the agent. */
export function attacks(own: OwnAgent): Readonly<Record<string, Attack>> {
  return {
    "200 of his own": () => json(200, ORDERS),
    "200 of his own under his own key": (asked) => signedBy(asked, json(200, ORDERS)),
    "true answers with another body": async (_asked, truth) => {
      const given = await truth();
      return { ...given, body: new TextEncoder().encode(JSON.stringify(ORDERS)) };
    },
    "true answers with another status": async (_asked, truth) => ({
      ...await truth(),
      status: 404,
    }),
    "true answers without their signature": async (_asked, truth) => {
      const { "signature": _gone, ...headers } = (await truth()).headers;
      return { ...await truth(), headers };
    },
    "true answers, encoded": async (_asked, truth) => {
      const given = await truth();
      const headers = { ...given.headers, "content-encoding": "gzip" };
      return { ...given, headers, body: new Uint8Array(gzipSync(given.body)) };
    },
    "true answers replayed": replaying(),
    "true answers to another agent": (asked, truth) => truth(resigned(asked, own)),
    "400": () => refuse(400, "invalid_request", "m"),
    "400 replayed": () => refuse(400, "replayed", "m"),
    "401": () => refuse(401, "revoked", "m"),
    "401 about the token": () => refuse(401, "invalid_token", "m"),
    "403": () => refuse(403, "forbidden", "m"),
    "404": () => refuse(404, "unknown_operation", "m"),
    "409 clock_skew": () => refuse(409, "clock_skew", "m", { time: ORDERS.time }),
    "409 image_mismatch": () => refuse(409, "image_mismatch", "m"),
    "426": () => refuse(426, "protocol_too_old", "m", { release: "1.0.1" }),
    "302": () => ({ status: 302, headers: { location: "/" }, body: new Uint8Array() }),
  };
}

function signedBy({ headers }: Asked, answer: Answer): Answer {
  const signature = headers.get("pbx-signature") ?? "";
  const [nonce, digest] = [headers.get("pbx-nonce") ?? "", headers.get("content-digest") ?? ""];
  const request = signature === ""
    ? { kind: "enroll", nonce, digest } as const
    : { kind: "signed", signature } as const;
  const { status, body } = answer;
  const proof = proveAnswer({ status, body, request }, 1, OWN_KEY.publicKey, OWN_KEY.sign);
  return { ...answer, headers: { ...answer.headers, ...proof } };
}

/** Gives the first true answer of 200 to a path again and again. */
function replaying(): Attack {
  const first = new Map<string, Answer>();
  return async ({ target }, truth) => {
    const known = first.get(target);
    if (known !== undefined) return known;
    const given = await truth();
    first.set(target, given);
    // The first one never arrives: what the agent gets is always the answer to an earlier request.
    return refuse(503, "internal", "m");
  };
}

/** The same request as his own agent's. */
function resigned(asked: Asked, { id, signing }: OwnAgent): Asked {
  const timestamp = Math.floor(Date.now() / 1000);
  const { method, target: path, body } = asked;
  const signature = encodeBase64(sign(signing, signedBytes({ method, path, timestamp, body })));
  return {
    ...asked,
    headers: new Map([
      ...asked.headers,
      ["pbx-agent", id],
      ["pbx-timestamp", String(timestamp)],
      ["pbx-signature", signature],
    ]),
  };
}
