import assert from "node:assert/strict";
import type { Agent, QueuedOperation } from "../../../adapters/portal/state.ts";
import { decodeBase64, encodeBase64 } from "../../../core/protocol/base64.ts";
import { openSealed, sealingPublicKey } from "../../../core/protocol/sealing.ts";
import { signingPublicKey } from "../../../core/protocol/signing.ts";
import { isJsonObject, type JsonValue } from "../../../core/json.ts";
import { Secret } from "../../../core/secret.ts";
import type { World } from "./world.ts";

const IDENTITY = "/var/lib/pbx-agent/identity.json";
const BOOTSTRAP = "/var/lib/pbx-agent/bootstrap.json";

/** Offers a rotation of the agent's keys. */
export function offerRotation(world: World, id = "rotate-1"): QueuedOperation {
  return world.portal.offer({ id, kind: "agent.rotate_key", params: {} });
}

/** The one agent, as the portal knows it. */
export function agentOf(world: World): Agent {
  const [agent] = world.portal.portal.state.agents.values();
  assert.ok(agent !== undefined);
  return agent;
}

/** The public halves of the pair that identity.json says is in use. */
export function publicKeysOf(world: World): { signing: string; sealing: string } {
  const { signing, sealing } = world.stored(IDENTITY).keys;
  return {
    signing: encodeBase64(signingPublicKey(secretKey(signing))),
    sealing: encodeBase64(sealingPublicKey(secretKey(sealing))),
  };
}

/** The names of the pairs that identity.json holds. */
export function pairsIn(world: World): string[] {
  const identity = world.stored(IDENTITY);
  return ["keys", "next", "previous"].filter((name) => identity[name] !== undefined);
}

/** Asserts that every box on disk opens with the one pair that is left, and nothing else. */
export function assertSealedAnew(world: World): void {
  const { sealing } = world.stored(IDENTITY).keys;
  const key = { secretKey: secretKey(sealing), publicKey: sealingPublicKey(secretKey(sealing)) };
  const boxes = [...boxesIn(world.stored()), ...boxesIn(world.stored(BOOTSTRAP))];
  assert.ok(boxes.length >= 6, `${boxes.length} boxes`);
  for (const box of boxes) assert.ok(openSealed(box, [key]).ok, "a box of another key is stored");
}

/**
 * Asserts all that a finished rotation leaves on both sides (protocol §7). `before`: the public keys that
 * were in use.
 */
export function assertRotated(
  world: World,
  operation: QueuedOperation,
  before: { readonly signing: string; readonly sealing: string },
): void {
  assert.equal(operation.result?.state, "succeeded", JSON.stringify(operation.result));
  const keys = publicKeysOf(world);
  assert.notEqual(keys.signing, before.signing);
  assert.notEqual(keys.sealing, before.sealing);
  const agent = agentOf(world);
  assert.deepEqual(agent.keys, keys, "both sides use the same keys");
  assert.equal(agent.previous, null, "the portal refuses the old ones");
  assert.deepEqual(agent.retired, [before.signing], "one rotation, and no other");
  assert.deepEqual(pairsIn(world), ["keys"], "one pair is left");
  assertSealedAnew(world);

  const created = world.stored(IDENTITY).keys.created_at;
  assert.deepEqual(operation.result?.output, { keys_created_at: created });
  assert.equal(world.lastReport().agent.keys_created_at, created);
  const { events } = operation;
  assert.deepEqual(events.map(({ seq }) => seq), events.map((_, index) => index + 1));
  assert.deepEqual(
    events.filter(({ state }) => state === "succeeded").map(({ step }) => step),
    ["generate", "register", "confirm"],
  );
  assert.equal(world.stored().operation, null);
  assert.equal(world.stored().revoked, false);
  assert.deepEqual(world.conditions(), []);
}

function boxesIn(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(boxesIn);
  if (!isJsonObject(value)) return [];
  const { sealed } = value;
  return [
    ...(typeof sealed === "string" ? [sealed] : []),
    ...Object.values(value).flatMap(boxesIn),
  ];
}

function secretKey(text: string): Secret<Uint8Array> {
  return new Secret(decodeBase64(text) ?? new Uint8Array());
}
