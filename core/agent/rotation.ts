import { isJsonObject, type JsonValue } from "../json.ts";
import type { Registration, Rotation } from "../operations/rotation.ts";
import { encodeBase64 } from "../protocol/base64.ts";
import type { PublicKeys } from "../protocol/enroll.ts";
import { MAX_REFUSALS } from "../protocol/reaction.ts";
import type { OfferedOperation } from "../protocol/operation.ts";
import { reseal } from "../protocol/reseal.ts";
import { rotationProof } from "../protocol/rotate_key.ts";
import { PUBLIC_KEYS_IN_SCRIPT } from "../protocol/public_keys.ts";
import { seal } from "../protocol/sealing.ts";
import { fail, ok, type Result } from "../result.ts";
import { loadBootstrap, saveBootstrap } from "../state/bootstrap.ts";
import { type KeyPairs, newKeys } from "../state/identity.ts";
import type { State } from "../state/state.ts";
import type { BoundContext } from "./context.ts";
import { exchange } from "./exchange.ts";
import { runningOperation } from "../state/journal.ts";

/**
 * The rotation of this agent's keys (protocol §7). `refused`: the portal refuses this identity by both
 * pairs; resolves when serving has ended for it.
 */
export function openRotation(context: BoundContext, refused: () => Promise<void>): Rotation {
  const { identity, ports } = context;
  /** How often a pair that this run made was registered; null for one that it found. */
  let attempts: number | null = null;
  return {
    async prepare() {
      const { keys, next: stored, previous } = identity.current;
      if (stored !== undefined) return ok(stored.created_at);
      // The rotation before was not confirmed: a third pair would leave one that the portal may know.
      if (previous !== undefined) return ok(keys.created_at);
      const next = newKeys(ports.random, new Date(ports.clock.now()).toISOString());
      const saved = await identity.change((now) => ({ ...now, next }));
      if (saved.ok) attempts = 0;
      return saved.ok ? ok(next.created_at) : fail(saved.error.message);
    },
    async register() {
      const registration = await register(context, refused);
      if (attempts !== null) attempts++;
      const isForGood = registration.kind === "refused" && registration.forGood;
      // Every answer was a refusal, and none was lost: nobody knows these keys, and the same registration
      // may not go again. The next rotation makes others.
      if (isForGood && attempts !== null && attempts <= MAX_REFUSALS) {
        await identity.change(({ next: _refused, ...now }) => now);
      }
      return registration;
    },
    takeOver: () => takeOver(context),
    isConfirmed: () =>
      identity.current.next === undefined && identity.current.previous === undefined,
    isForgotten: () => identity.isForgotten,
    createdAt: () => identity.current.keys.created_at,
  };
}

async function register(
  context: BoundContext,
  refused: () => Promise<void>,
): Promise<Registration> {
  const { channels } = context;
  const later = (why: string): Registration => ({
    kind: "later",
    ms: channels.waitMs("rotation"),
    why,
  });
  const { keys: used, next, previous } = context.identity.current;
  // A crash after the take-over, before the step was recorded as done. Until a sync has confirmed them
  // the keys are registered again: a portal that lost them would refuse them for ever.
  if (next === undefined && previous === undefined) return { kind: "registered" };
  if (channels.waitMs("rotation") > 0) return later("the wait before is not over yet");
  const pair = next ?? used;
  const { publicKeys = PUBLIC_KEYS_IN_SCRIPT } = context;
  const keys: PublicKeys = {
    signing: encodeBase64(publicKeys.signing(pair.signing)),
    sealing: encodeBase64(publicKeys.sealing(pair.sealing)),
  };
  const proof = encodeBase64(
    await context.sign(pair.signing, rotationProof(context.binding.agent_id, keys)),
  );
  const outcome = await exchange(context, {
    channel: "rotation",
    method: "POST",
    path: "/rotate-key",
    body: { public_keys: keys, proof },
  });
  switch (outcome.do) {
    case "apply":
      if (!isJsonObject(outcome.body)) {
        await channels.failed("rotation");
        return later("the answer is malformed: it is no object");
      }
      await channels.succeeded("rotation");
      context.identity.isForgotten = false;
      return { kind: "registered" };
    case "aborted":
      return { kind: "aborted" };
    case "stop":
      await refused();
      return refusal(`the portal refuses both keys: ${outcome.message}`);
    case "give_up":
      return refusal(`the portal refuses the new keys: ${outcome.message}`, true);
    case "wait":
      return later("the portal asks to wait");
    case "update":
      return refusal("the portal takes no agent this old");
    case "back_off":
      return later(outcome.message);
  }
}

function refusal(message: string, forGood = false): Registration {
  return { kind: "refused", message, forGood };
}

async function takeOver(context: BoundContext): Promise<Result<void, string>> {
  const { next } = context.identity.current;
  if (next === undefined) return ok(undefined);
  const sealed = await sealStored(context, next);
  if (!sealed.ok) return sealed;
  const changed = await context.identity.change((now) => {
    const { next: taken, ...rest } = now;
    return taken === undefined ? now : { ...rest, keys: taken, previous: now.keys };
  });
  return changed.ok ? ok(undefined) : fail(changed.error.message);
}

/**
 * After a sync that the keys in use did not sign, for they were refused. Goes on with the next keys where
 * those signed it: the portal has taken a registration whose answer never came. Where the ones before did,
 * it knows nothing of a registration that it has answered.
 */
export async function adoptKeys(context: BoundContext): Promise<void> {
  const { identity } = context;
  if (identity.current.next === undefined) {
    identity.isForgotten = identity.current.previous !== undefined;
    return;
  }
  const taken = await takeOver(context);
  if (taken.ok) await confirmKeys(context);
  else context.ports.log.write("error", "keys_not_rotated", taken.error);
}

/**
 * Ends a rotation after a sync that the new key signed: what that answer brought may still be sealed to
 * the old one, so it is sealed anew before the old pair goes, last of all.
 */
export async function confirmKeys(context: BoundContext): Promise<void> {
  const { identity, ports } = context;
  if (identity.current.previous === undefined) return;
  const sealed = await sealStored(context, identity.current.keys);
  const changed = sealed.ok ? await identity.change(({ previous: _gone, ...now }) => now) : sealed;
  if (changed.ok) {
    ports.log.write("info", "keys_rotated", "the portal takes the new keys; the old ones are gone");
    return;
  }
  const why = typeof changed.error === "string" ? changed.error : changed.error.message;
  ports.log.write("error", "keys_not_rotated", `the old keys are kept for now: ${why}`);
}

/**
 * Completes a rotation that no operation completes any more: the next pair is stored, and the portal may
 * have taken it. Its operation failed under an earlier version of this program, or was lost with the state.
 * The registration is repeated, which the portal answers with 200 where it took the pair (protocol §7).
 */
export function openLeftRotation(): (context: BoundContext) => Promise<void> {
  /** When the pair was made that the portal has refused since the start. */
  let refusedPair: string | null = null;
  return async (context) => {
    const { identity, store, ports } = context;
    const { next } = identity.current;
    const isUnderWay = runningOperation(store.state) !== null;
    if (next === undefined || isUnderWay || next.created_at === refusedPair) return;
    const registration = await register(context, () => Promise.resolve());
    if (registration.kind === "refused") refusedPair = next.created_at;
    if (registration.kind !== "registered") return;
    const taken = await takeOver(context);
    if (!taken.ok) {
      ports.log.write("warn", "keys_not_rotated", `${taken.error}; tried again in the next cycle`);
      return;
    }
    ports.log.write("info", "keys_taken_over", "a rotation that was cut short goes on");
  };
}

/**
 * An operation that came with a sync's answer, as it can be kept when that sync confirms a rotation: what
 * the portal sealed to the old key before it knew of that counts too (protocol §7). `current`: the pair in
 * use signed that sync.
 */
export function sealedToStay(
  context: BoundContext,
  operation: OfferedOperation | null,
  current: boolean,
): OfferedOperation | null {
  const { identity } = context;
  const { keys, next, previous } = identity.current;
  const stays = !current ? next : previous === undefined ? undefined : keys;
  if (operation === null || stays === undefined) return operation;
  const sealTo = sealerTo(context, stays);
  const params = reseal(operation.params as JsonValue, identity.sealingKeys, sealTo);
  return { ...operation, params: params as OfferedOperation["params"] };
}

/** Seals to a pair's key. */
export function sealerTo(
  context: Pick<BoundContext, "ports" | "publicKeys" | "seal">,
  pair: KeyPairs,
): (plaintext: Uint8Array) => string {
  const { ports, publicKeys = PUBLIC_KEYS_IN_SCRIPT, seal: sealWith = seal } = context;
  const publicKey = publicKeys.sealing(pair.sealing);
  return (plaintext) => sealWith(plaintext, publicKey, ports.random.bytes(32));
}

/** Seals what is stored to a pair's key: state.json, then bootstrap.json. */
async function sealStored(context: BoundContext, to: KeyPairs): Promise<Result<void, string>> {
  const { store, ports, identity } = context;
  const sealTo = sealerTo(context, to);
  const anew = <T>(document: T): T =>
    reseal(document as JsonValue, identity.sealingKeys, sealTo) as T;
  const stored = await store.commit((state): State => ({
    ...state,
    desired: anew(state.desired),
    operation: state.operation === null
      ? null
      : { ...state.operation, params: anew(state.operation.params) },
  }));
  if (!stored.ok) return fail(stored.error.message);
  const bootstrap = await loadBootstrap(ports.disk, identity.current);
  if (!bootstrap.ok) return fail(bootstrap.error.message);
  if (bootstrap.value.kind !== "loaded") return ok(undefined);
  const saved = await saveBootstrap(ports.disk, anew(bootstrap.value.value));
  return saved.ok ? ok(undefined) : fail(saved.error.message);
}
