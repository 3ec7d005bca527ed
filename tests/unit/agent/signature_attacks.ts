import { firstRelease } from "../../../adapters/portal/first_release.ts";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import { decodeBase64, encodeBase64 } from "../../../core/protocol/base64.ts";
import { keyId, pae, RELEASE_PAYLOAD_TYPE } from "../../../core/protocol/dsse.ts";
import { sign, signingPublicKey } from "../../../core/protocol/signing.ts";
import { Secret } from "../../../core/secret.ts";
import { parseReleaseKeys } from "../../../adapters/portal/release_keys.ts";
import keys from "../../../fixtures/lab-release-keys.json" with { type: "json" };

/** Body of an answer that has to be refused, or taken, for a release of that version. */
export type Attack = (version: string) => string;

const [FIRST, SECOND] = parseReleaseKeys(JSON.stringify(keys));
const STRANGER = new Secret(new Uint8Array(32).fill(7));
const TYPE = RELEASE_PAYLOAD_TYPE;
/** The order of Ed25519's group: adding it to the second half of a signature gives another text for it. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

interface Signature {
  readonly keyid?: JsonValue;
  readonly sig?: JsonValue;
}

const MANIFEST: JsonObject = JSON.parse(
  JSON.stringify(firstRelease().payload).replaceAll("{portal}", "https://agents.example.com"),
);

/** The manifest of a release. */
function release(version: string): JsonObject {
  return { ...MANIFEST, version };
}

function bytesOf(value: JsonValue | string): Uint8Array {
  return new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));
}

function signature(seed: Secret<Uint8Array>, signed: Uint8Array, shownAs = seed): Signature {
  return { keyid: keyId(signingPublicKey(shownAs)), sig: encodeBase64(sign(seed, signed)) };
}

/** The envelope of `payload` as it should be, signed by both keys. */
function envelope(payload: Uint8Array, type = TYPE) {
  const signed = pae(type, payload);
  return {
    payloadType: type as JsonValue,
    payload: encodeBase64(payload) as JsonValue,
    signatures: [signature(FIRST, signed), signature(SECOND, signed)] as readonly Signature[],
  };
}

function good(version: string) {
  return envelope(bytesOf(release(version)));
}

/** A good envelope of which members are replaced; undefined takes one away. */
function altered(change: (version: string) => object): Attack {
  return (version) => JSON.stringify({ ...good(version), ...change(version) });
}

/** A good envelope whose signatures are replaced one by one. */
function signatures(change: (one: Signature, index: number, version: string) => unknown): Attack {
  return altered((version) => ({
    signatures: good(version).signatures.map((one, index) => change(one, index, version)),
  }));
}

/** Signed by both keys over other bytes than the encoding of DSSE. */
function signedOver(bytes: (payload: Uint8Array) => Uint8Array): Attack {
  return altered((version) => {
    const signed = bytes(bytesOf(release(version)));
    return { signatures: [signature(FIRST, signed), signature(SECOND, signed)] };
  });
}

/** What the keys signed, whatever it is, in a whole envelope. */
function signedText(text: (version: string) => string): Attack {
  return (version) => JSON.stringify(envelope(bytesOf(text(version))));
}

function flip(text: JsonValue | undefined, at: number): string {
  const letters = [...String(text)];
  letters[at] = letters[at] === "A" ? "B" : "A";
  return letters.join("");
}

/** The same signature with another second half, which verifies where that is not held to be canonical. */
function malleable(sig: JsonValue | undefined): string {
  const bytes = decodeBase64(String(sig)) ?? new Uint8Array();
  let scalar = bytes.slice(32).reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n) + ORDER;
  for (let at = 32; at < 64; at++) {
    bytes[at] = Number(scalar % 256n);
    scalar /= 256n;
  }
  return encodeBase64(bytes);
}

const url = (text: JsonValue) => String(text).replaceAll("+", "-").replaceAll("/", "_");
const wrong: readonly JsonValue[] = [null, 1, true, [], {}];

/** Every place of a manifest, as the list of keys that lead to it. */
function places(value: JsonValue, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]));
}

function replaced(value: JsonValue, [key, ...rest]: readonly string[]): JsonValue {
  if (key === undefined) return typeof value === "string" ? `${value}x` : !value;
  const copy = structuredClone(value) as Record<string, JsonValue>;
  copy[key] = replaced(copy[key] ?? null, rest);
  return copy;
}

/** Attacks on the envelope. */
export const ENVELOPE_ATTACKS: Readonly<Record<string, Attack>> = {
  ...Object.fromEntries(
    ["payloadType", "payload", "signatures"].flatMap((member) => [
      [`without ${member}`, altered(() => ({ [member]: undefined }))],
      ...wrong.map((value) => [
        `${member} is ${JSON.stringify(value)}`,
        altered(() => ({ [member]: value })),
      ]),
    ]),
  ),
  "payloadType with another letter": altered(() => ({ payloadType: TYPE.replace("pbx", "pbX") })),
  "payloadType with a blank": altered(() => ({ payloadType: `${TYPE} ` })),
  "payloadType of any JSON": altered(() => ({ payloadType: "application/json" })),
  "another payloadType, signed as itself": (version) =>
    JSON.stringify(envelope(bytesOf(release(version)), "application/json")),
  "another payloadType, signed as the right one": (version) =>
    JSON.stringify({ ...envelope(bytesOf(release(version))), payloadType: `${TYPE};v=1` }),
  "payload with another first letter": altered((v) => ({ payload: flip(good(v).payload, 0) })),
  "payload with another last letter": altered((v) => ({
    payload: flip(good(v).payload, String(good(v).payload).replace(/=*$/, "").length - 3),
  })),
  "payload with a byte more": altered((v) => ({
    payload: encodeBase64(bytesOf(`${JSON.stringify(release(v))} `)),
  })),
  "payload in the URL alphabet": (v) => {
    const payload = bytesOf({ ...release(v), note: "~~~???>>>" });
    const whole = envelope(payload);
    return JSON.stringify({ ...whole, payload: url(whole.payload) });
  },
  "payload without padding": (v) => {
    // Made so long that there is some.
    const text = JSON.stringify(release(v));
    const whole = envelope(bytesOf(text + " ".repeat(3 - (text.length + 1) % 3)));
    return JSON.stringify({ ...whole, payload: String(whole.payload).replace(/=+$/, "") });
  },
  "payload with a line end": altered((v) => ({ payload: `${good(v).payload}\n` })),
  "payload with a blank inside": altered((v) => ({
    payload: String(good(v).payload).replace(/^.{8}/, "$& "),
  })),
  "payload in base64 twice": altered((v) => ({
    payload: encodeBase64(bytesOf(String(good(v).payload))),
  })),
  "payload as it is": altered((v) => ({ payload: JSON.stringify(release(v)) })),
  "payload as an object": altered((v) => ({ payload: release(v) })),
  "no payload": altered(() => ({ payload: "" })),
  "payload twice, the bad one first": (v) => {
    const bad = encodeBase64(bytesOf(release("9.9.9")));
    return JSON.stringify(good(v)).replace("{", `{"payload":"${bad}",`);
  },
  "payload twice, the bad one last": (v) => {
    const bad = encodeBase64(bytesOf(release("9.9.9")));
    return JSON.stringify(good(v)).replace(/\}$/, `,"payload":"${bad}"}`);
  },
  "payload twice, one name escaped": (v) =>
    JSON.stringify(good(v)).replace("{", '{"payl\\u006fad":"AAAA",'),
  "signatures twice": (v) => JSON.stringify(good(v)).replace("{", '{"signatures":[],'),
  "payloadType twice": (v) => JSON.stringify(good(v)).replace("{", '{"payloadType":"x",'),
  "sig twice in a signature": (v) => JSON.stringify(good(v)).replaceAll('"sig"', '"sig":"","sig"'),
  "keyid twice in a signature": (v) =>
    JSON.stringify(good(v)).replaceAll('"keyid"', '"keyid":"0","keyid"'),
  "a key that reaches a prototype": (v) =>
    JSON.stringify(good(v)).replace("{", '{"__proto__":{"signatures":[]},'),
  "two envelopes": (v) => JSON.stringify(good(v)).repeat(2),
  "something behind the envelope": (v) => `${JSON.stringify(good(v))}x`,
  "a list of envelopes": (v) => JSON.stringify([good(v)]),
  "an envelope in an envelope": (v) => JSON.stringify({ envelope: good(v) }),
  "a text that is an envelope": (v) => JSON.stringify(JSON.stringify(good(v))),
  "a byte order mark": (v) => `\ufeff${JSON.stringify(good(v))}`,
  "the bare manifest": (v) => JSON.stringify(release(v)),
};

/** Attacks on the signatures. */
export const SIGNATURE_ATTACKS: Readonly<Record<string, Attack>> = {
  "no signature": altered(() => ({ signatures: [] })),
  "one signature without a list": altered((v) => ({ signatures: good(v).signatures[0] })),
  "signatures that are texts": signatures(({ sig }) => sig),
  ...Object.fromEntries(["keyid", "sig"].flatMap((member) => [
    [`without ${member}`, signatures((one) => ({ ...one, [member]: undefined }))],
    ...wrong.map((value) => [
      `${member} is ${JSON.stringify(value)}`,
      signatures((one) => ({ ...one, [member]: value })),
    ]),
  ])),
  "keys swapped": signatures((one, index, v) => ({
    ...one,
    keyid: good(v).signatures[1 - index]?.keyid,
  })),
  "signatures swapped": signatures((one, index, v) => ({
    ...one,
    sig: good(v).signatures[1 - index]?.sig,
  })),
  "keyid in capitals": signatures((one) => ({ ...one, keyid: String(one.keyid).toUpperCase() })),
  "keyid cut short": signatures((one) => ({ ...one, keyid: String(one.keyid).slice(0, 8) })),
  "keyid with more behind": signatures((one) => ({ ...one, keyid: `${one.keyid}00` })),
  "keyid is the key": signatures((one, index) => ({
    ...one,
    keyid: encodeBase64(signingPublicKey(index === 0 ? FIRST : SECOND)),
  })),
  "a valid signature by a third key": altered((v) => ({
    signatures: [signature(STRANGER, pae(TYPE, bytesOf(release(v))))],
  })),
  "a third key that says it is the first": altered((v) => ({
    signatures: [signature(STRANGER, pae(TYPE, bytesOf(release(v))), FIRST)],
  })),
  "a release key that says it is a third": altered((v) => ({
    signatures: [signature(FIRST, pae(TYPE, bytesOf(release(v))), STRANGER)],
  })),
  "a bad one and a third key's": altered((v) => ({
    signatures: [
      { ...good(v).signatures[0], sig: flip(good(v).signatures[0]?.sig, 5) },
      signature(STRANGER, pae(TYPE, bytesOf(release(v)))),
    ],
  })),
  "both with another first letter": signatures((one) => ({ ...one, sig: flip(one.sig, 0) })),
  "both with another letter in the second half": signatures((one) => ({
    ...one,
    sig: flip(one.sig, 60),
  })),
  "both with the group's order added": signatures((one) => ({ ...one, sig: malleable(one.sig) })),
  "of 63 bytes": signatures((one) => ({
    ...one,
    sig: encodeBase64((decodeBase64(String(one.sig)) ?? new Uint8Array()).slice(0, 63)),
  })),
  "of 65 bytes": signatures((one) => ({
    ...one,
    sig: encodeBase64(Uint8Array.of(...decodeBase64(String(one.sig)) ?? [], 0)),
  })),
  "of zeros": signatures((one) => ({ ...one, sig: encodeBase64(new Uint8Array(64)) })),
  "of the neutral point": signatures((one) => ({
    ...one,
    sig: encodeBase64(Uint8Array.of(1, ...new Uint8Array(63))),
  })),
  "without padding": signatures((one) => ({ ...one, sig: String(one.sig).replace(/=+$/, "") })),
  "with a line end": signatures((one) => ({ ...one, sig: `${one.sig}\n` })),
  "in hex": signatures((one) => ({
    ...one,
    sig: [...decodeBase64(String(one.sig)) ?? []].map((byte) => byte.toString(16).padStart(2, "0"))
      .join(""),
  })),
  "of another release": signatures((_, index) => good("1.0.0").signatures[index]),
  "over the bare payload": signedOver((payload) => payload),
  "over the payload's text": signedOver((payload) => bytesOf(encodeBase64(payload))),
  "over the text in the encoding": signedOver((payload) =>
    pae(TYPE, bytesOf(encodeBase64(payload)))
  ),
  "over an encoding without lengths": signedOver((payload) =>
    bytesOf(`DSSEv1 ${TYPE} ${new TextDecoder().decode(payload)}`)
  ),
  "over wrong lengths": signedOver((payload) =>
    bytesOf(`DSSEv1 ${TYPE.length} ${TYPE} 0 ${new TextDecoder().decode(payload)}`)
  ),
  "over lengths with zeros before them": signedOver((payload) => {
    const text = new TextDecoder().decode(payload);
    return bytesOf(`DSSEv1 0${TYPE.length} ${TYPE} 0${payload.length} ${text}`);
  }),
  "over another version of the encoding": signedOver((payload) =>
    bytesOf(new TextDecoder().decode(pae(TYPE, payload)).replace("DSSEv1", "DSSEv2"))
  ),
  "over a type that takes part of the payload": (v) => {
    // The same letters in the same order, cut elsewhere: only the lengths tell.
    const payload = bytesOf(release(v));
    const shifted = pae(`${TYPE} ${payload.length}`, payload);
    return JSON.stringify({
      ...envelope(payload),
      signatures: [signature(FIRST, shifted), signature(SECOND, shifted)],
    });
  },
  "over lengths in characters": (v) => {
    const text = JSON.stringify({ ...release(v), note: "ünïcödé" });
    const signed = bytesOf(`DSSEv1 ${TYPE.length} ${TYPE} ${text.length} ${text}`);
    return JSON.stringify({
      ...envelope(bytesOf(text)),
      signatures: [signature(FIRST, signed), signature(SECOND, signed)],
    });
  },
};

/** What release keys signed, and is no manifest of that release all the same. */
export const SIGNED_ATTACKS: Readonly<Record<string, Attack>> = {
  "an older release": signedText(() => JSON.stringify(release("1.0.0"))),
  "a newer release": signedText(() => JSON.stringify(release("99.0.0"))),
  "the version with a blank": signedText((v) => JSON.stringify(release(`${v} `))),
  "the version twice, the right one last": signedText((v) =>
    JSON.stringify(release(v)).replace("{", '{"version":"1.0.0",')
  ),
  "the version twice, the right one first": signedText((v) =>
    JSON.stringify(release(v)).replace(/\}$/, ',"version":"1.0.0"}')
  ),
  "the version twice, one escaped": signedText((v) =>
    JSON.stringify(release(v)).replace("{", '{"\\u0076ersion":"1.0.0",')
  ),
  "a key twice deep inside": signedText((v) =>
    JSON.stringify(release(v)).replace('"sha256":', '"sha256":"0","sha256":')
  ),
  "a key that reaches a prototype": signedText((v) =>
    JSON.stringify(release(v)).replace("{", '{"__proto__":{},')
  ),
  "two manifests": signedText((v) => JSON.stringify(release(v)).repeat(2)),
  "a byte order mark": signedText((v) => `\ufeff${JSON.stringify(release(v))}`),
  "no JSON": signedText(() => "release"),
  "nothing": signedText(() => ""),
  ...Object.fromEntries(
    ["version", "created_at", "agent", "image", "addons"].map((member) => [
      `no ${member}`,
      signedText((v) => JSON.stringify({ ...release(v), [member]: undefined })),
    ]),
  ),
};

/** Each place of the manifest altered, under the signatures of what it was. */
export const PLACE_ATTACKS: Readonly<Record<string, Attack>> = Object.fromEntries(
  places(release("1.0.0")).map((path) => [
    path.join("."),
    altered((v) => ({ payload: encodeBase64(bytesOf(replaced(release(v), path))) })),
  ]),
);

/** What looks odd and has to be taken: one good signature is enough, others do not matter. */
export const TAKEN: Readonly<Record<string, Attack>> = {
  "signed by both": (v) => JSON.stringify(good(v)),
  "signed by the first alone": altered((v) => ({ signatures: good(v).signatures.slice(0, 1) })),
  "signed by the second alone": altered((v) => ({ signatures: good(v).signatures.slice(1) })),
  "one of two signatures bad": signatures((one, index) => ({
    ...one,
    sig: index === 0 ? flip(one.sig, 5) : one.sig,
  })),
  "a third key's beside a good one": altered((v) => ({
    signatures: [
      signature(STRANGER, pae(TYPE, bytesOf(release(v)))),
      ...good(v).signatures.slice(0, 1),
    ],
  })),
  "members that mean nothing": altered(() => ({ note: "x" })),
};
