import type { JsonObject } from "../json.ts";
import { changedMembers } from "../protocol/changed_members.ts";
import { keyId } from "../protocol/dsse.ts";
import { withEntry } from "../state/history.ts";
import type { TrustConfig } from "../state/trust_config.ts";
import type { BoundContext } from "./context.ts";
import { valuesOf } from "./desired_history.ts";
import { BY_AGENT, BY_ROOT, entryOf } from "./history_entry.ts";

/** What config.yaml pins, as the history tells it: keys by their IDs; members that are not there left out. */
export function pinsOf(trust: TrustConfig): JsonObject {
  const { portalKeys, approvalKeys, requireApproval, s3Target } = trust;
  const pins = {
    portal_keys: portalKeys.map(keyId),
    approval_keys: approvalKeys.map(({ fingerprint, comment }) =>
      comment === "" ? fingerprint : `${comment} ${fingerprint}`
    ),
    approvals: approvalKeys.length === 0 ? null : trust.approvals,
    require: trust.requireBoundBoxes ? ["bound_boxes"] : [],
    require_approval: requireApproval,
    join: trust.join,
    s3_target: s3Target === null ? null : { ...s3Target } as unknown as JsonObject,
    k3s_token_sha256: trust.k3sTokenSha256,
    cluster_ca_sha256: trust.clusterCaSha256,
  };
  const isThere = (value: unknown) => Array.isArray(value) ? value.length > 0 : value !== null;
  return Object.fromEntries(Object.entries(pins).filter(([, value]) => isThere(value)));
}

/** Longest value of a member of config.yaml: ten keys with their owners fit. */
const MAX_PINS = 4_000;

/** At a start: where the history begins, and what root has changed in config.yaml since the last one. */
export async function noteStart(context: BoundContext): Promise<void> {
  const { store, config } = context;
  if (store.state.history === undefined) {
    const begun = entryOf(context, BY_AGENT, { what: "history_begun" });
    await store.keep((state) => withEntry(state, begun));
  }
  const trust = pinsOf(config.trust);
  const changed = changedMembers(store.state.history?.trust ?? {}, trust);
  if (changed.length === 0) return;
  const event = {
    what: "trust_changed",
    changed: changed.map((one) => ({ path: one.path, ...valuesOf(one, MAX_PINS) })),
  } as const;
  const entry = entryOf(context, BY_ROOT, event);
  await store.keep((state) => {
    const noted = withEntry(state, entry);
    return { ...noted, history: { recent: noted.history?.recent ?? [], trust } };
  });
}
