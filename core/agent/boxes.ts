import type { JsonValue } from "../json.ts";
import type { KnownBoxes } from "../protocol/bound_box.ts";
import { boxId } from "../protocol/bound_box.ts";
import {
  bindBoxes,
  isBound,
  scanEnrollAnswer,
  scanSyncAnswer,
  type SealedAt,
} from "../protocol/secret_positions.ts";
import { fail, ok, type Result } from "../result.ts";
import { loadBootstrap, saveBootstrap } from "../state/bootstrap.ts";
import type { State } from "../state/state.ts";
import type { BoundContext } from "./context.ts";
import type { BoxRules } from "./judge.ts";
import { sealerTo } from "./rotation.ts";
import { requiresBound } from "./trust.ts";

/**
 * What the boxes of an answer are judged by (trust.md T1): whether unbound ones are refused, and which of
 * them are stored already. `isBinding`: the answer itself says, proven, that every box in it is bound.
 */
export async function boxRules(context: BoundContext, isBinding = false): Promise<BoxRules> {
  const { identity, store, config } = context;
  const { desired, operation } = store.state;
  const bootstrap = await loadBootstrap(context.ports.disk);
  const enrolled = bootstrap.ok && bootstrap.value.kind === "loaded"
    ? bootstrap.value.value.boxes ?? {}
    : {};
  return {
    isBoundRequired: isBinding || requiresBound(config.trust, identity.current),
    known: { ...operation?.boxes, ...desired?.boxes, ...enrolled },
    sealTo: sealerTo(context, identity.current.keys),
  };
}

/** From now on only bound boxes count, for good. */
export async function demandBound({ identity }: BoundContext): Promise<Result<void, string>> {
  if (identity.current.bound_boxes === true) return ok(undefined);
  const changed = await identity.change((now) => ({ ...now, bound_boxes: true }));
  return changed.ok ? ok(undefined) : fail(changed.error.message);
}

/**
 * Binds the boxes that an earlier version stored, once; what they came as stays known, so that none of them
 * is taken anywhere else. Only a version that stays does this: the one before it could not read them.
 */
export async function bindStored(context: BoundContext): Promise<Result<void, string>> {
  const { identity, store, ports } = context;
  if (identity.current.stored_bound === true) return ok(undefined);
  const sealTo = sealerTo(context, identity.current.keys);
  const bind = (document: JsonValue, boxes: readonly SealedAt[]) =>
    bindBoxes(document, boxes, identity.sealingKeys, sealTo);
  const unbound = (boxes: readonly SealedAt[]): KnownBoxes =>
    Object.fromEntries(
      boxes.filter(({ box }) => !isBound(box, identity.sealingKeys))
        .map(({ box, position }) => [boxId(box), position]),
    );

  const bootstrap = await loadBootstrap(ports.disk);
  if (!bootstrap.ok) return fail(bootstrap.error.message);
  if (bootstrap.value.kind === "loaded") {
    const stored = bootstrap.value.value;
    const found = scanEnrollAnswer(stored.answer as JsonValue);
    const boxes = found.ok ? found.value : [];
    const known = unbound(boxes);
    if (Object.keys(known).length > 0) {
      const answer = bind(stored.answer as JsonValue, boxes) as typeof stored.answer;
      const saved = await saveBootstrap(ports.disk, {
        ...stored,
        answer,
        boxes: { ...stored.boxes, ...known },
      });
      if (!saved.ok) return fail(saved.error.message);
    }
  }
  const stored = await store.commit((state) => boundState(state, bind, unbound));
  if (!stored.ok) return fail(stored.error.message);
  const noted = await identity.change((now) => ({ ...now, stored_bound: true }));
  return noted.ok ? ok(undefined) : fail(noted.error.message);
}

function boundState(
  state: State,
  bind: (document: JsonValue, boxes: readonly SealedAt[]) => JsonValue,
  unbound: (boxes: readonly SealedAt[]) => KnownBoxes,
): State {
  const { desired, operation } = state;
  const document = { desired: desired?.state ?? null, operation } as unknown as JsonValue;
  const found = scanSyncAnswer(document);
  const boxes = found.ok ? found.value : [];
  const bound = bind(document, boxes) as unknown as {
    readonly desired: NonNullable<State["desired"]>["state"];
    readonly operation: NonNullable<State["operation"]>;
  };
  const of = (root: string) => unbound(boxes.filter(({ steps }) => steps[0] === root));
  return {
    ...state,
    desired: desired === null
      ? null
      : { ...desired, state: bound.desired, boxes: { ...of("desired"), ...desired.boxes } },
    operation: operation === null
      ? null
      : { ...bound.operation, boxes: { ...of("operation"), ...operation.boxes } },
  };
}
