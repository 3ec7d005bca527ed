import assert from "node:assert/strict";
import { keyId, pae, signEnvelope, verifyRelease } from "../../../core/protocol/dsse.ts";
import { verify } from "../../../core/protocol/signing.ts";
import { present } from "../../present.ts";
import {
  bytesFromBase64,
  LAB_RELEASE_KEYS,
  signingPair,
  utf8,
} from "../../../fixtures/source/material.ts";
import envelope from "../../../fixtures/releases/1.4.0.json" with { type: "json" };
import vectors from "../../../fixtures/vectors/dsse.json" with { type: "json" };

const TRUSTED = LAB_RELEASE_KEYS.map((key) => key.publicKey);

async function messageOf(body: string, version: string, trusted: readonly Uint8Array[] = TRUSTED) {
  const result = await verifyRelease(utf8(body), version, trusted);
  assert.ok(!result.ok, "the manifest was accepted");
  assert.equal(result.error.code, "manifest_rejected");
  return result.error.message;
}

Deno.test("pae: DSSE's encoding counts bytes, not characters", () => {
  assert.equal(
    new TextDecoder().decode(pae("http://example.com/HelloWorld", utf8("hello world"))),
    "DSSEv1 29 http://example.com/HelloWorld 11 hello world",
  );
  for (const vector of vectors.pae) {
    assert.deepEqual(pae(vector.type, utf8(vector.payload)), utf8(vector.pae));
  }
  assert.deepEqual(pae("ü", utf8("€")), utf8("DSSEv1 2 ü 3 €"));
});

Deno.test("keyId: 16 hex digits of the key's SHA-256", async () => {
  for (const { keyid, public_key } of vectors.trusted) {
    const key = bytesFromBase64(public_key);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", key));
    const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    assert.equal(keyId(key), keyid);
    assert.equal(keyid, hex.slice(0, 16));
  }
});

Deno.test("signEnvelope: WebCrypto verifies both signatures over the encoding", async () => {
  const signed = pae(envelope.payloadType, bytesFromBase64(envelope.payload));
  for (const [index, { sig }] of envelope.signatures.entries()) {
    const key = await crypto.subtle.importKey(
      "raw",
      present(TRUSTED[index]).slice(),
      "Ed25519",
      false,
      [
        "verify",
      ],
    );
    const good = await crypto.subtle.verify("Ed25519", key, bytesFromBase64(sig), signed.slice());
    assert.equal(good, true);
  }
  assert.equal(envelope.signatures.length, 2);
});

Deno.test("verifyRelease: takes what one release key of this agent signed", async () => {
  for (const { name, version, body } of vectors.accepted) {
    const result = await verifyRelease(utf8(body), version, TRUSTED);
    assert.ok(result.ok, `${name}: ${result.ok ? "" : result.error.message}`);
    assert.equal(result.value.version, version);
  }
});

Deno.test("verifyRelease: refuses every vector that must not count", async () => {
  for (const { name, version, body } of vectors.refused) {
    assert.ok((await messageOf(body, version)).length > 0, name);
  }
});

Deno.test("verifyRelease: any altered byte of payload, type or signature is refused", async () => {
  const good = signEnvelope(bytesFromBase64(envelope.payload), [present(LAB_RELEASE_KEYS[0]).seed]);
  const text = JSON.stringify(good);
  assert.ok((await verifyRelease(utf8(text), "1.4.0", TRUSTED)).ok);
  // Each place is altered within its alphabet; a sample keeps the run short.
  for (let at = 0; at < text.length; at += 97) {
    const altered = text[at] === "A" ? "B" : "A";
    await messageOf(text.slice(0, at) + altered + text.slice(at + 1), "1.4.0");
  }
});

Deno.test("verifyRelease: says why", async () => {
  const body = JSON.stringify(envelope);
  assert.match(await messageOf(body, "1.4.0", []), /built without release keys/);
  assert.match(await messageOf(body, "1.5.0"), /manifest of release 1\.4\.0/);
  assert.match(
    await messageOf(body, "1.4.0", [signingPair("nobody").publicKey]),
    /no signature by/,
  );
  assert.match(await messageOf("{}", "1.4.0"), /no DSSE envelope: payloadType: must be a string/);
  assert.match(await messageOf('{"payload":"","payload":""}', "1.4.0"), /"payload" twice/);
});

Deno.test("verifyRelease: a signature counts only for the bytes that DSSE encodes", () => {
  const payload = bytesFromBase64(envelope.payload);
  const signature = bytesFromBase64(present(envelope.signatures[0]).sig);
  assert.equal(verify(present(TRUSTED[0]), signature, pae(envelope.payloadType, payload)), true);
  assert.equal(verify(present(TRUSTED[0]), signature, payload), false);
});

Deno.test("verifyRelease: artifacts of an architecture that this agent does not know are ignored", async () => {
  const payload = JSON.parse(new TextDecoder().decode(bytesFromBase64(envelope.payload)));
  const artifact = { url: "https://example.com/a", sha256: "a".repeat(64), size: 1 };
  payload.agent.artifacts = { amd64: artifact, riscv64: { url: 5 } };
  const seeds = LAB_RELEASE_KEYS.map(({ seed }) => seed);
  const signed = JSON.stringify(signEnvelope(utf8(JSON.stringify(payload)), seeds));
  const release = await verifyRelease(utf8(signed), "1.4.0", TRUSTED);
  assert.ok(release.ok, release.ok ? "" : release.error.message);
  assert.deepEqual(release.value.agent.artifacts, { amd64: artifact });
});

Deno.test("verifyRelease: the first 16 signatures are looked at, whatever they are, and cost what they are", async () => {
  const good = present(envelope.signatures[0]);
  const strange = { keyid: "0123456789abcdef", sig: good.sig };
  const wrong = { keyid: good.keyid, sig: "A".repeat(86) + "==" };
  let verified = 0;
  const outcome = async (signatures: unknown[]) => {
    verified = 0;
    const body = utf8(JSON.stringify({ ...envelope, signatures }));
    return (await verifyRelease(body, "1.4.0", TRUSTED, (...what) => {
      verified++;
      return Promise.resolve(verify(...what));
    })).ok;
  };
  for (const filler of [strange, wrong]) {
    assert.equal(await outcome([...Array(15).fill(filler), good]), true);
    assert.equal(await outcome([...Array(16).fill(filler), good]), false, "the 17th counted");
  }
  assert.equal(await outcome([...Array(2_000).fill(wrong), good]), false);
  assert.equal(verified, 16);
  assert.equal(await outcome([...Array(2_000).fill(strange), good]), false);
  assert.equal(verified, 0, "a signature of another key cost a verification");
});
