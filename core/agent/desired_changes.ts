import type { JsonValue } from "../json.ts";
import { type AcceptedFacts, isSameTarget, targetOf } from "../protocol/approved_changes.ts";
import type { EffectiveS3Target, NeededChange } from "../protocol/approved_changes.ts";
import { neededChanges } from "../protocol/approved_changes.ts";
import type { DesiredState } from "../protocol/desired_state.ts";
import { canonicalJson } from "../protocol/jcs.ts";
import { type ShownRegistries, shownRegistries } from "../protocol/registries.ts";
import type { Release } from "../protocol/release.ts";
import { sequenceOf } from "../protocol/release_age.ts";
import { finishApprovals } from "./approvals.ts";
import type { BoundContext } from "./context.ts";

/**
 * The changes from the accepted desired state to `offered` that the owner has to approve; none where the
 * owner has no keys. `isOlder`: its release counts as an older one.
 */
export function changesOf(
  context: BoundContext,
  offered: DesiredState,
  release: Release,
  isOlder: boolean,
): readonly NeededChange[] {
  const { config: { trust }, store, identity } = context;
  if (trust.approvalKeys.length === 0) return [];
  const changes = neededChanges(acceptedFacts(context), offered, {
    s3Target: configuredTarget(context),
    registries: release.k3s?.registries ?? [],
  });
  const isInUse = store.state.desired?.state.release === release.version;
  if (!isOlder || isInUse) return changes;
  const newest = identity.current.releases?.newest ?? null;
  const from = newest && { ...newest };
  const to = { sequence: sequenceOf(release), version: release.version };
  return [...changes, { kind: "change", what: "older_release", from, to }];
}

/** What the next desired state is compared with. */
function acceptedFacts({ store, identity }: BoundContext): AcceptedFacts {
  const desired = store.state.desired?.state;
  const noted = identity.current.s3_target;
  if (desired === undefined) {
    const registries = identity.current.registries ?? null;
    return { s3Target: noted, snapshots: null, registries };
  }
  const { etcd_s3 } = desired.secrets;
  return {
    s3Target: etcd_s3 === undefined ? noted && null : targetOf(etcd_s3),
    snapshots: desired.host.snapshots,
    registries: registriesOf(desired),
  };
}

function registriesOf({ host }: DesiredState): ShownRegistries | null {
  return host.registries === undefined ? null : shownRegistries(host.registries);
}

function configuredTarget({ config }: BoundContext): EffectiveS3Target | null {
  const { s3Target } = config.trust;
  return s3Target === null ? null : targetOf(s3Target);
}

/**
 * Notes what was accepted: the target and the registries survive the loss of state.json, and used approvals
 * are used up.
 */
export async function noteAccepted(context: BoundContext): Promise<void> {
  const { config, store, identity, ports } = context;
  const desired = store.state.desired?.state;
  if (config.trust.approvalKeys.length === 0 || desired === undefined) return;
  const { etcd_s3 } = desired.secrets;
  const target = etcd_s3 === undefined ? null : targetOf(etcd_s3);
  const noted = identity.current.s3_target;
  const isNoted = isSameTarget(noted ?? null, target) && (noted !== undefined || target === null);
  const registries = registriesOf(desired);
  const areNoted = canonicalJson((identity.current.registries ?? null) as JsonValue) ===
    canonicalJson(registries as JsonValue);
  if (!isNoted || !areNoted) {
    const changed = await identity.change((now) => ({
      ...now,
      ...(isNoted ? {} : { s3_target: target }),
      ...(areNoted ? {} : { registries }),
    }));
    // What is not noted now is noted by the next answer.
    if (!changed.ok) {
      ports.log.write("warn", "accepted_not_noted", changed.error.message);
      return;
    }
  }
  await finishApprovals(context, ({ use }) => use === "change");
}

/** Whether snapshots may go where the answer to the enrollment says, before any desired state. */
export function mayUseFirstTarget(
  context: BoundContext,
  etcdS3: NonNullable<DesiredState["secrets"]["etcd_s3"]>,
): boolean {
  if (context.config.trust.approvalKeys.length === 0) return true;
  const { s3_target } = context.identity.current;
  const allowed = s3_target === undefined ? configuredTarget(context) : s3_target;
  return allowed !== null && isSameTarget(allowed, targetOf(etcdS3));
}
