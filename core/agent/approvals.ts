import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import {
  type Approval,
  type ApprovalSubject,
  judgeApprovals,
  type NotApproved,
} from "../protocol/approval.ts";
import { canonicalJson } from "../protocol/jcs.ts";
import type { SshPublicKey } from "../protocol/sshsig.ts";
import type { UsedKey } from "../state/history.ts";
import type { UsedApproval } from "../state/identity.ts";
import { hasPassed } from "../state/witnesses.ts";
import type { Waiting } from "./approval_memory.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, correctedNow, raiseCondition, witnesses } from "./context.ts";
import { keepProvenTime, latestTime } from "./release_memory.ts";

/** How the approvals of something were judged. `not_stored`: nothing may be done with them yet. */
export type ApprovalVerdict =
  /** `used`: the keys that approve it; none where nothing needs one. */
  | { readonly kind: "approved"; readonly used: readonly UsedKey[] }
  | { readonly kind: "not_stored" }
  | { readonly kind: "not_approved"; readonly fault: NotApproved };

const NOT_NEEDED: ApprovalVerdict = { kind: "approved", used: [] };

/** How long a used approval is remembered after it expired, milliseconds. */
const KEPT_MS = 30 * 86_400_000;

/**
 * Judges the approvals of an operation or of changes, all of them or none, and notes in identity.json which
 * texts are used before anything is done with them. Where the owner has no keys, nothing needs one.
 */
export async function useApprovals(
  context: BoundContext,
  subjects: readonly ApprovalSubject[],
  approvals: readonly Approval[],
): Promise<ApprovalVerdict> {
  const { config: { trust }, binding, identity, verify } = context;
  if (trust.approvalKeys.length === 0 || subjects.length === 0) return NOT_NEEDED;
  await keepProvenTime(context);
  const used = identity.current.used_approvals ?? {};
  const noted: Record<string, UsedApproval> = {};
  const keys: UsedKey[] = [];
  for (const subject of subjects) {
    const purpose = purposeOf(subject);
    const judged = await judgeApprovals(subject, approvals, {
      cluster: binding.cluster_id,
      node: binding.node_name,
      keys: trust.approvalKeys,
      needed: trust.approvals,
      latest: latestTime(context),
      now: correctedNow(context),
      isUsed: (text) => isUsedUp(used[hashOf(text)], purpose),
      ...(verify === undefined ? {} : { verify }),
    });
    if (!judged.ok) return { kind: "not_approved", fault: judged.error };
    for (const { text, expires } of judged.value.texts) {
      noted[hashOf(text)] = { ...purpose, expires, lived_ms: context.time.livedMs() };
    }
    keys.push(...judged.value.keys.map((key) => usedKey(key, subject)));
  }
  const approved: ApprovalVerdict = { kind: "approved", used: keys };
  if (Object.keys(noted).every((hash) => used[hash] !== undefined)) return approved;
  const changed = await identity.change((now) => ({
    ...now,
    used_approvals: { ...remembered(now.used_approvals ?? {}, context), ...noted },
  }));
  if (changed.ok) return approved;
  context.ports.log.write("error", "approval_not_stored", changed.error.message);
  return { kind: "not_stored" };
}

/** What the used approvals were used for has begun: from now on none of them works once more. */
export async function finishApprovals(
  { identity, ports }: BoundContext,
  isBegun: (used: UsedApproval) => boolean,
): Promise<void> {
  const open = (used: UsedApproval) => used.done !== true && isBegun(used);
  if (!Object.values(identity.current.used_approvals ?? {}).some(open)) return;
  const changed = await identity.change((now) => ({
    ...now,
    used_approvals: Object.fromEntries(
      Object.entries(now.used_approvals ?? {}).map(([hash, used]) => [
        hash,
        open(used) ? { ...used, done: true as const } : used,
      ]),
    ),
  }));
  // What is not noted now is noted by the next answer.
  if (!changed.ok) ports.log.write("warn", "approval_not_stored", changed.error.message);
}

/**
 * Says why the desired state or the operation of an answer is not approved; null where that is over. Each
 * condition stands once, so the two share a message where both lack the same.
 */
export async function sayApproval(
  context: BoundContext,
  waiting: Waiting,
  fault: NotApproved | null,
): Promise<void> {
  const { faults } = context.approvals;
  if (fault === null) faults.delete(waiting);
  else faults.set(waiting, fault);
  for (const code of ["approval_missing", "approval_invalid"] as const) {
    const messages = [...faults.values()].filter((one) => one.code === code);
    if (messages.length === 0) await clearConditions(context, code);
    else await raiseCondition(context, code, messages.map(({ message }) => message).join("; "));
  }
}

function usedKey({ comment, fingerprint }: SshPublicKey, subject: ApprovalSubject): UsedKey {
  const change = subject.kind === "change" ? { change: subject.what } : {};
  return { owner: comment, fingerprint, ...change };
}

function purposeOf(subject: ApprovalSubject): Pick<UsedApproval, "use" | "for"> {
  return subject.kind === "operation"
    ? { use: "operation", for: subject.id }
    : { use: "change", for: canonicalJson(subject.to) };
}

/** The same use may go on after a crash, until what was approved has begun. */
function isUsedUp(
  used: UsedApproval | undefined,
  purpose: Pick<UsedApproval, "use" | "for">,
): boolean {
  if (used === undefined) return false;
  return used.done === true || used.use !== purpose.use || used.for !== purpose.for;
}

/**
 * Without those that expired long ago by every witness, the node's wall clock too; never by their number. An
 * approval that is forgotten before it expires works a second time. What an earlier version noted is
 * counted from now on.
 */
function remembered(
  used: Readonly<Record<string, UsedApproval>>,
  context: BoundContext,
): Record<string, UsedApproval> {
  const seen = witnesses(context);
  const now = Math.min(context.ports.clock.now(), seen.now);
  const entries = Object.entries(used).map(([hash, one]) => {
    const lived_ms = Math.min(one.lived_ms ?? seen.livedMs, seen.livedMs);
    return [hash, { ...one, lived_ms }] as const;
  });
  const isKept = ({ expires: at, lived_ms }: UsedApproval) =>
    !hasPassed(KEPT_MS, { at, lived_ms }, { ...seen, now });
  return Object.fromEntries(entries.filter(([, one]) => isKept(one)));
}

function hashOf(text: string): string {
  return bytesToHex(sha256(new TextEncoder().encode(text)));
}
