import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { httpbis } from "http-message-signatures";
import {
  contentDigest,
  proveAnswer,
  type RequestProof,
  verifyAnswer,
} from "../../../core/protocol/answer_signature.ts";
import { decodeBase64 } from "../../../core/protocol/base64.ts";
import { keyId } from "../../../core/protocol/dsse.ts";
import { sign, signingPublicKey, verify } from "../../../core/protocol/signing.ts";
import { Secret } from "../../../core/secret.ts";

// The witness is an implementation of RFC 9421 that is not ours.

const UTF8 = new TextEncoder();
const SEED = new Secret(new Uint8Array(32).fill(7));
const KEY = signingPublicKey(SEED);
const BODY = UTF8.encode('{"time":"2026-01-01T00:00:00Z"}');
const CREATED = 1_767_225_600;

const REQUESTS: readonly {
  readonly request: RequestProof;
  readonly headers: Record<string, string>;
  readonly fields: string[];
}[] = [
  {
    request: { kind: "signed", signature: btoa("s".repeat(64)) },
    headers: { "pbx-signature": btoa("s".repeat(64)) },
    fields: ["@status", "content-digest", "pbx-signature;req"],
  },
  {
    request: { kind: "enroll", nonce: btoa("n".repeat(16)), digest: contentDigest(BODY) },
    headers: { "pbx-nonce": btoa("n".repeat(16)), "content-digest": contentDigest(BODY) },
    fields: ["@status", "content-digest", "pbx-nonce;req", "content-digest;req"],
  },
];

/** The witness's verdict; false too where it refuses to look. */
async function isProvenByWitness(
  status: number,
  headers: Record<string, string>,
  sent: Record<string, string>,
): Promise<boolean> {
  const request = {
    method: "POST",
    url: "https://agents.example.com/agent/v1/sync",
    headers: sent,
  };
  const keyLookup = () =>
    Promise.resolve({
      id: keyId(KEY),
      algs: ["ed25519"],
      verify: (data: Buffer, signature: Buffer) =>
        Promise.resolve(verify(KEY, new Uint8Array(signature), new Uint8Array(data))),
    });
  try {
    return await httpbis.verifyMessage({ keyLookup }, { status, headers }, request) === true;
  } catch {
    return false;
  }
}

Deno.test("proveAnswer: an independent RFC 9421 verifies it, for this status and request only", async () => {
  for (const { request, headers } of REQUESTS) {
    const answer = { status: 200, body: BODY, request };
    const proof = { ...proveAnswer(answer, CREATED, KEY, (bytes) => sign(SEED, bytes)) };
    assert.equal(await isProvenByWitness(200, proof, headers), true);
    assert.equal(await isProvenByWitness(401, proof, headers), false);
    const other = { ...proof, "content-digest": contentDigest(UTF8.encode("other")) };
    assert.equal(await isProvenByWitness(200, other, headers), false);
    for (const name of Object.keys(headers)) {
      const changed = { ...headers, [name]: btoa("another") };
      assert.equal(await isProvenByWitness(200, proof, changed), false, name);
    }
  }
});

Deno.test("verifyAnswer: takes what an independent RFC 9421 has signed", async () => {
  for (const { request, headers, fields } of REQUESTS) {
    const signed = await httpbis.signMessage(
      {
        key: {
          id: keyId(KEY),
          alg: "ed25519",
          sign: (data: Buffer) => Promise.resolve(Buffer.from(sign(SEED, new Uint8Array(data)))),
        },
        name: "pbx",
        fields,
        params: ["created", "keyid", "alg"],
        paramValues: { created: new Date(CREATED * 1000) },
      },
      { status: 200, headers: { "content-digest": contentDigest(BODY) } },
      { method: "POST", url: "https://agents.example.com/agent/v1/sync", headers },
    );
    const proof = Object.fromEntries(
      Object.entries(signed.headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
    );
    assert.deepEqual(await verifyAnswer({ status: 200, body: BODY, request }, proof, [KEY]), {
      ok: true,
      value: undefined,
    });
  }
});

Deno.test("verify: takes the Ed25519 signature of RFC 9421, B.2.6", () => {
  const base = [
    '"date": Tue, 20 Apr 2021 02:07:55 GMT',
    '"@method": POST',
    '"@path": /foo',
    '"@authority": example.com',
    '"content-type": application/json',
    '"content-length": 18',
    '"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length")' +
    ';created=1618884473;keyid="test-key-ed25519"',
  ].join("\n");
  const key = decodeBase64("JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=");
  const signature = decodeBase64(
    "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
  );
  assert.ok(key !== null && signature !== null);
  assert.equal(verify(key, signature, UTF8.encode(base)), true);
  assert.equal(verify(key, signature, UTF8.encode(`${base} `)), false);
});
