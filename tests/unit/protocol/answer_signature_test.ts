import assert from "node:assert/strict";
import { createPublicKey, verify as verifyNatively } from "node:crypto";
import {
  contentDigest,
  proveAnswer,
  type RequestProof,
  signatureBase,
  verifyAnswer,
} from "../../../core/protocol/answer_signature.ts";
import { keyId } from "../../../core/protocol/dsse.ts";
import { sign, signingPublicKey } from "../../../core/protocol/signing.ts";
import { Secret } from "../../../core/secret.ts";

const UTF8 = new TextEncoder();
const SEED = new Secret(new Uint8Array(32).fill(7));
const OTHER = new Secret(new Uint8Array(32).fill(8));
const KEY = signingPublicKey(SEED);
const BODY = UTF8.encode('{"time":"2026-01-01T00:00:00Z"}');
const SIGNED: RequestProof = { kind: "signed", signature: "c2lnbmF0dXJl" };
const ENROLL: RequestProof = { kind: "enroll", nonce: "bm9uY2U=", digest: contentDigest(BODY) };

function proof(request: RequestProof = SIGNED, seed = SEED, status = 200, body = BODY) {
  const answer = { status, body, request };
  const headers = proveAnswer(
    answer,
    1_767_225_600,
    signingPublicKey(seed),
    (bytes) => sign(seed, bytes),
  );
  return { answer, headers };
}

/** Why an answer is not proven, or null. */
async function fault(
  answer: Parameters<typeof verifyAnswer>[0],
  headers: Readonly<Record<string, string>>,
  keys: readonly Uint8Array[] = [KEY],
): Promise<string | null> {
  const verified = await verifyAnswer(answer, headers, keys);
  return verified.ok ? null : verified.error;
}

Deno.test("verifyAnswer: takes what was signed for this request, by one of the keys", async () => {
  for (const request of [SIGNED, ENROLL]) {
    const { answer, headers } = proof(request);
    assert.equal(await fault(answer, { ...headers }), null);
    assert.equal(await fault(answer, { ...headers }, [signingPublicKey(OTHER), KEY]), null);
    assert.match(
      await fault(answer, { ...headers }, [signingPublicKey(OTHER)]) ?? "",
      /not one of portal_keys/,
    );
    assert.notEqual(await fault(answer, { ...headers }, []), null);
  }
});

Deno.test("verifyAnswer: the headers are byte for byte those of trust.md", () => {
  const { headers } = proof();
  assert.equal(
    headers["signature-input"],
    'pbx=("@status" "content-digest" "pbx-signature";req);created=1767225600;' +
      `keyid="${keyId(KEY)}";alg="ed25519"`,
  );
  assert.match(headers["content-digest"], /^sha-256=:[A-Za-z0-9+/]{43}=:$/);
  assert.match(headers.signature, /^pbx=:[A-Za-z0-9+/]{86}==:$/);
  assert.match(proof(ENROLL).headers["signature-input"], /"pbx-nonce";req "content-digest";req\)/);
});

Deno.test("verifyAnswer: another status, body, request or key is not proven", async () => {
  const { answer, headers } = proof();
  const all = { ...headers };
  assert.notEqual(await fault({ ...answer, status: 401 }, all), null);
  assert.match(
    await fault({ ...answer, body: UTF8.encode("{}") }, all) ?? "",
    /Content-Digest is not that/,
  );
  assert.notEqual(
    await fault({ ...answer, request: { kind: "signed", signature: "b3RoZXI=" } }, all),
    null,
  );
  assert.notEqual(await fault({ ...answer, request: ENROLL }, all), null);
  const enroll = proof(ENROLL);
  for (const change of [{ nonce: "eA==" }, { digest: contentDigest(new Uint8Array()) }]) {
    const request = { ...ENROLL, ...change } as RequestProof;
    assert.notEqual(await fault({ ...enroll.answer, request }, { ...enroll.headers }), null);
  }
  // Signed by a key that is not pinned, under the ID of one that is.
  const forged = proof(SIGNED, OTHER);
  const input = forged.headers["signature-input"].replace(
    keyId(signingPublicKey(OTHER)),
    keyId(KEY),
  );
  assert.match(
    await fault(forged.answer, { ...forged.headers, "signature-input": input }) ?? "",
    /does not hold/,
  );
});

Deno.test("verifyAnswer: every other form of a header proves nothing", async () => {
  const { answer, headers } = proof();
  const input = headers["signature-input"];
  for (
    const change of [
      { "content-encoding": "gzip" },
      { "content-encoding": "identity" },
      { "content-digest": headers["content-digest"].replace("sha-256", "SHA-256") },
      { "content-digest": `${headers["content-digest"]}, ${headers["content-digest"]}` },
      { "content-digest": ` ${headers["content-digest"]}` },
      { "signature-input": input.replace("pbx=", "sig1=") },
      { "signature-input": `${input}, ${input}` },
      { "signature-input": `${input};expires=1` },
      { "signature-input": input.replace(' "content-digest"', "") },
      {
        "signature-input": input.replace(
          '"@status" "content-digest"',
          '"content-digest" "@status"',
        ),
      },
      { "signature-input": input.replace("created=", "created=-") },
      { "signature-input": input.replace(/created=[0-9]+/, "created=1234567890123456") },
      { "signature-input": input.replace(';alg="ed25519"', "") },
      { "signature-input": input.replace("ed25519", "Ed25519") },
      { "signature": headers.signature.replace("==:", ":") },
      { "signature": headers.signature.replace("pbx=", "pbx2=") },
      { "signature": `${headers.signature}, ${headers.signature}` },
      { "signature": "pbx=:AAAA:" },
    ]
  ) assert.notEqual(await fault(answer, { ...headers, ...change }), null, JSON.stringify(change));
  for (const name of ["content-digest", "signature-input", "signature"] as const) {
    const { [name]: _gone, ...rest } = headers;
    assert.notEqual(await fault(answer, rest), null, `without ${name}`);
  }
});

Deno.test("verifyAnswer: created is not judged, but it is signed", async () => {
  const request = SIGNED;
  for (const created of [0, 999_999_999_999_999]) {
    const answer = { status: 200, body: BODY, request };
    const headers = proveAnswer(answer, created, KEY, (bytes) => sign(SEED, bytes));
    assert.equal(await fault(answer, { ...headers }), null);
    const changed = headers["signature-input"].replace(/created=[0-9]+/, "created=5");
    assert.notEqual(await fault(answer, { ...headers, "signature-input": changed }), null);
  }
});

Deno.test("signatureBase: the form of RFC 9421 §2.5, and another implementation of Ed25519 takes it", () => {
  const { answer, headers } = proof();
  const params = headers["signature-input"].slice("pbx=".length);
  const base = signatureBase(answer, params);
  assert.equal(
    new TextDecoder().decode(base),
    `"@status": 200\n"content-digest": ${headers["content-digest"]}\n` +
      `"pbx-signature";req: c2lnbmF0dXJl\n"@signature-params": ${params}`,
  );
  const jwk = {
    kty: "OKP",
    crv: "Ed25519",
    x: KEY.toBase64({ alphabet: "base64url", omitPadding: true }),
  };
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const signature = Uint8Array.fromBase64(headers.signature.slice("pbx=:".length, -1));
  assert.ok(verifyNatively(null, base, key, signature));
});
