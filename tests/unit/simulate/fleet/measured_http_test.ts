import assert from "node:assert/strict";
import { createNodeClock } from "../../../../adapters/node/clock.ts";
import { keyOf } from "../../../../adapters/portal/answer_key.ts";
import type { HttpAnswer } from "../../../../core/ports/http.ts";
import { contentDigest, proveAnswer } from "../../../../core/protocol/answer_signature.ts";
import { encodeBase64 } from "../../../../core/protocol/base64.ts";
import { Secret } from "../../../../core/secret.ts";
import { watchAgent } from "../../../../simulate/fleet/agent_watch.ts";
import { measureHttp } from "../../../../simulate/fleet/measured_http.ts";
import type { Endpoint } from "../../../../simulate/report/report.ts";
import { openRecorder } from "../../../../simulate/report/recorder.ts";
import { requestProofOf } from "../../../../simulate/request_proof.ts";

const KEY = keyOf(new Secret(new Uint8Array(32).fill(1)));
const OTHER = keyOf(new Secret(new Uint8Array(32).fill(2)));
const BODY = new TextEncoder().encode("{}");
const SIGNED = { "PBX-Signature": encodeBase64(new Uint8Array(64)) };
const ENROLL = {
  "PBX-Nonce": encodeBase64(new Uint8Array(16)),
  "Content-Digest": contentDigest(BODY),
};

/** What the report says of one answer of `status` to a request, signed by `by` for a request with `proven`. */
async function told(
  { path = "/sync", headers = SIGNED, proven = headers, status = 200, by = KEY, keys = [KEY] }: {
    readonly path?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly proven?: Readonly<Record<string, string>>;
    readonly status?: number;
    readonly by?: typeof KEY | null;
    readonly keys?: readonly (typeof KEY)[];
  },
) {
  const recorder = openRecorder(() => 0, 1000);
  const monotonic = () => 0;
  const watch = watchAgent({ name: "agent 1", recorder, monotonic });
  const request = requestProofOf(proven);
  const proof = by === null || request === null
    ? {}
    : proveAnswer({ status, body: BODY, request }, 1, by.publicKey, by.sign);
  const answer: HttpAnswer = { status, headers: { ...proof }, body: BODY };
  const http = measureHttp({
    http: { request: () => Promise.resolve({ ok: true, value: answer }) },
    clock: createNodeClock(),
    recorder,
    watch,
    weather: { draw: () => ({ kind: "none", delayMs: 0, reply: null }), isCut: false },
    dueSince: monotonic,
    ended: () => {},
    isSkewed: () => false,
    portalKeys: keys.map(({ publicKey }) => publicKey),
    answerWork: {},
  });
  const url = `https://portal.test/agent/v1${path}`;
  const limits = { totalMs: 1, connectMs: 1, maxBytes: 1 };
  const came = await http.request({ method: "POST", url, headers, body: BODY, ...limits });
  assert.ok(came.ok && came.value === answer, "the agent gets every answer as it came");
  const { endpoints, errors, enrolled } = recorder.finish();
  const endpoint: Endpoint = path === "/sync" ? "sync" : path === "/enroll" ? "enroll" : "other";
  return { succeeded: endpoints[endpoint]?.succeeded, errors: Object.keys(errors), enrolled };
}

const SUCCESS = { succeeded: 1, errors: [], enrolled: 0 };
const UNPROVEN = { succeeded: 0, errors: ["answer_unproven"], enrolled: 0 };

Deno.test("measureHttp: with portal keys, what no key proves is an error and enrolls nobody", async () => {
  assert.deepEqual(await told({}), SUCCESS);
  assert.deepEqual(await told({ by: OTHER }), UNPROVEN);
  assert.deepEqual(await told({ by: null }), UNPROVEN);
  assert.deepEqual(await told({ proven: { "PBX-Signature": encodeBase64(BODY) } }), UNPROVEN);
  const enrolling = { path: "/enroll", headers: ENROLL };
  assert.deepEqual(await told(enrolling), { ...SUCCESS, enrolled: 1 });
  assert.deepEqual(await told({ ...enrolling, by: OTHER }), UNPROVEN);
  assert.deepEqual(await told({ status: 401, by: null }), UNPROVEN);
});

Deno.test("measureHttp: without portal keys, from 500 on and elsewhere nothing needs a proof", async () => {
  assert.deepEqual(await told({ by: null, keys: [] }), SUCCESS);
  assert.deepEqual(await told({ status: 503, by: null }), { ...UNPROVEN, errors: ["http_503"] });
  assert.deepEqual(await told({ path: "/metadata", headers: {}, by: null }), SUCCESS);
});
