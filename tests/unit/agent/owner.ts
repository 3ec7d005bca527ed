import { sha512 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import type { JsonObject } from "../../../core/json.ts";
import { type ApprovalSubject, approvalText } from "../../../core/protocol/approval.ts";
import { encodeBase64 } from "../../../core/protocol/base64.ts";
import { sign, signingPublicKey } from "../../../core/protocol/signing.ts";
import { Secret } from "../../../core/secret.ts";
import { CONFIG_FILE } from "../../../core/state/paths.ts";
import { createWorld, type World, type WorldOptions } from "./world.ts";

const UTF8 = new TextEncoder();
/** The private keys of two owners. */
export const SEEDS = [1, 2].map((byte) => new Secret(new Uint8Array(32).fill(byte)));

function packed(bytes: Uint8Array | string): Uint8Array {
  const content = typeof bytes === "string" ? UTF8.encode(bytes) : bytes;
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, content.length);
  return concatBytes(length, content);
}

function blobOf(seed: Secret<Uint8Array>): Uint8Array {
  return concatBytes(packed("ssh-ed25519"), packed(signingPublicKey(seed)));
}

/** What `ssh-keygen -Y sign` makes; the contract test has OpenSSH itself as the witness. */
function sshSign(seed: Secret<Uint8Array>, text: string, namespace = "pbx-approval"): string {
  const head = [packed(namespace), packed(""), packed("sha512")];
  const signed = concatBytes(UTF8.encode("SSHSIG"), ...head, packed(sha512(UTF8.encode(text))));
  const signature = concatBytes(packed("ssh-ed25519"), packed(sign(seed, signed)));
  const version = new Uint8Array([0, 0, 0, 1]);
  const blob = concatBytes(
    UTF8.encode("SSHSIG"),
    version,
    packed(blobOf(seed)),
    ...head,
    packed(signature),
  );
  return `-----BEGIN SSH SIGNATURE-----\n${encodeBase64(blob)}\n-----END SSH SIGNATURE-----\n`;
}

/** Their public keys, as config.yaml has them. */
export const KEYS = SEEDS.map((seed, index) =>
  `ssh-ed25519 ${encodeBase64(blobOf(seed))} owner-${index}`
);
/** Where the first cluster of the fake portal has its snapshots. */
export const TARGET = {
  endpoint: "s3.example.com",
  bucket: "pbx-snapshots",
  region: "eu-central",
  folder: "demo",
};

/** A settled world whose owner has keys. */
export async function settled(
  more = `s3_target: ${JSON.stringify(TARGET)}\n`,
  options: WorldOptions = {},
): Promise<World> {
  const world = createWorld(options);
  const config = world.disk.text(CONFIG_FILE);
  world.disk.put(CONFIG_FILE, `${config}approval_keys: ${JSON.stringify(KEYS)}\n${more}`);
  world.start();
  await world.pass(90_000);
  return world;
}

/** How an approval differs from the usual one. */
export interface How {
  readonly seed?: Secret<Uint8Array>;
  readonly node?: string;
  readonly expires?: string;
  readonly namespace?: string;
}

/** The time in so many days. */
export function inDays(world: World, days: number): string {
  return new Date(world.clock.now() + days * 86_400_000).toISOString().replace(/\.\d+Z/, "Z");
}

/** An approval of `subject`. */
export function approve(world: World, subject: ApprovalSubject, how: How = {}): JsonObject {
  const { seed = SEEDS[0] as Secret<Uint8Array>, node = "demo-1", namespace } = how;
  const expires = how.expires ?? inDays(world, 1);
  const text = approvalText({ cluster: "demo", node, subject, expires });
  return {
    ...(subject.kind === "change" ? { what: subject.what } : {}),
    node,
    expires,
    signature: sshSign(seed, text, namespace),
  };
}

/** What is approved of an operation. */
export function subjectOf(
  offer: { id: string; kind: string; params: JsonObject },
): ApprovalSubject {
  return { kind: "operation", operation: offer.kind, id: offer.id, params: offer.params };
}
