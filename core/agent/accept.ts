import type { ConditionCode } from "../protocol/conditions.ts";
import { checkOptions } from "./check_options.ts";
import { checkRegistries } from "./check_registries.ts";
import type { KnownBoxes } from "../protocol/bound_box.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, raiseCondition } from "./context.ts";
import type { Offered } from "./judge.ts";
import { sayApproval, useApprovals } from "./approvals.ts";
import { changesOf, noteAccepted } from "./desired_changes.ts";
import { desiredEvent } from "./desired_history.ts";
import { entryOf } from "./history_entry.ts";
import { judgeRelease } from "./release_guard.ts";
import { type Orderer, withEntry } from "../state/history.ts";
import type { AgeVerdict } from "../protocol/release_age.ts";
import type { Releases } from "./releases.ts";
import { ok } from "../result.ts";

/** The conditions that say why an offered desired state is not used. At most one holds at a time. */
const REFUSALS: readonly ConditionCode[] = [
  "unsealed_secret",
  "undecryptable_secret",
  "misplaced_secret",
  "invalid_desired_state",
  "registries_refused",
  "release_expired",
  "release_below_minimum",
  "manifest_rejected",
  "manifest_unavailable",
];

/** Notes why what the portal offered is not used; everything stays as it was. */
export async function refuse(
  context: BoundContext,
  code: ConditionCode,
  message: string,
): Promise<void> {
  await clearConditions(context, ...REFUSALS.filter((other) => other !== code));
  await sayApproval(context, "desired", null);
  await raiseCondition(context, code, message);
}

/** What comes with an offered desired state. */
export interface OfferedWith {
  /** The boxes in it that came unbound. */
  readonly boxes?: KnownBoxes;
  /** Who offers it. */
  readonly by: Orderer;
}

/**
 * Takes over a desired state as a whole or not at all (protocol §4): its manifest verified, its options
 * checked against the templates, stored; only then may anything be applied. Tells whether the agent
 * must end what it does (`stop`: revoked; `aborted`).
 */
export async function accept(
  context: BoundContext,
  releases: Releases,
  offered: Offered,
  { boxes = {}, by }: OfferedWith,
): Promise<"done" | "stop" | "aborted"> {
  if (offered.kind === "faulty") {
    await refuse(context, "invalid_desired_state", offered.message);
    return "done";
  }
  if (offered.kind === "unchanged") {
    context.requests.demand("manifests", null);
    await clearRefusals(context);
    await sayApproval(context, "desired", null);
    await noteAccepted(context);
    await saySettledAge(context, releases);
    return "done";
  }
  const release = await releases.get(context, offered.state.release);
  if (!release.ok) {
    const { code, message } = release.error;
    if (code === "stop" || code === "aborted") return code;
    await refuse(context, code, message);
    return "done";
  }
  const options = checkOptions(offered.state, release.value, context.identity.sealingKeys);
  if (!options.ok) {
    await refuse(context, options.error.code, options.error.message);
    return "done";
  }

  const hasKeys = context.config.trust.approvalKeys.length > 0;
  const registries = hasKeys ? ok(undefined) : checkRegistries(offered.state, release.value);
  if (!registries.ok) {
    await refuse(context, "registries_refused", registries.error);
    return "done";
  }

  // Whether it is approved is judged last: nobody touches a token for what is refused all the same.
  const age = await judgeRelease(context, releases, release.value, hasKeys);
  if (age.kind === "refused") {
    await refuse(context, age.code, age.message);
    return "done";
  }
  const { approvals = [], ...state } = offered.state;
  const changes = changesOf(context, state, release.value, age.older !== null);
  const verdict = await useApprovals(context, changes, approvals);
  if (verdict.kind !== "approved") {
    if (changes.some(({ what }) => what === "older_release")) await sayOlder(context, age);
    await clearConditions(context, ...REFUSALS);
    await sayApproval(
      context,
      "desired",
      verdict.kind === "not_approved" ? verdict.fault : null,
    );
    return "done";
  }

  const before = context.store.state.desired;
  const desired = {
    tag: offered.tag,
    state,
    ...(Object.keys(boxes).length === 0 ? {} : { boxes }),
  };
  const isNew = before?.tag !== offered.tag;
  const event = desiredEvent({
    before: before?.state ?? null,
    state,
    tag: offered.tag,
    release: release.value,
    approvals: verdict.used,
  });
  const entry = entryOf(context, by, event);
  const stored = await context.store.commit((state) => {
    const accepted = { ...state, desired };
    return isNew ? withEntry(accepted, entry) : accepted;
  });
  if (!stored.ok) {
    context.ports.log.write(
      "error",
      "desired_state_not_stored",
      `revision ${offered.state.revision} is not applied, because it cannot be stored: ${stored.error.message}`,
    );
    return "done";
  }
  context.requests.demand("manifests", null);
  await clearRefusals(context);
  await sayApproval(context, "desired", null);
  await noteAccepted(context);
  await sayOlder(context, age);
  if (isNew) {
    context.ports.log.write(
      "info",
      "desired_state_accepted",
      `revision ${offered.state.revision} of release ${offered.state.release} is verified and stored`,
      { revision: offered.state.revision, tag: offered.tag },
    );
  }
  return "done";
}

/**
 * What is wanted is used. What holds up the release of the enrollment's answer stays said until k3s is
 * configured: the first start clears it.
 */
async function clearRefusals(context: BoundContext): Promise<void> {
  await clearConditions(context, ...REFUSALS.filter((code) => !isOfEnrollment(context, code)));
}

/** Whether a condition is about the enrollment's release, and not about that of the desired state. */
function isOfEnrollment({ store }: BoundContext, code: ConditionCode): boolean {
  const { first_start, desired, conditions } = store.state;
  return first_start === "configure" &&
    conditions.some((one) =>
      one.code === code && one.message.startsWith("release ") &&
      ![":", " "].some((end) => one.message.startsWith(`release ${desired?.state.release}${end}`))
    );
}

/** Says as long as an older release is wanted that it is older. */
async function sayOlder(context: BoundContext, age: AgeVerdict): Promise<void> {
  if (age.kind === "refused") return;
  if (age.older !== null) await raiseCondition(context, "release_older", age.older);
  else if (!isOfEnrollment(context, "release_older")) {
    await clearConditions(context, "release_older");
  }
}

/** The portal wants what is accepted: whether that is an older release is looked at where it was said. */
async function saySettledAge(context: BoundContext, releases: Releases): Promise<void> {
  const { desired, conditions } = context.store.state;
  const isSaid = conditions.some(({ code }) => code === "release_older");
  if (!isSaid || desired === null) return;
  const release = await releases.get(context, desired.state.release);
  if (release.ok) {
    await sayOlder(context, await judgeRelease(context, releases, release.value, true));
  }
}
