import * as z from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { fail, ok, type Result } from "../result.ts";
import { canonicalJson } from "./jcs.ts";
import { isSshSignatureOf, readSshSignature, type SshPublicKey } from "./sshsig.ts";
import type { Verify } from "./signing.ts";

/**
 * Approvals by the owner of a cluster (trust.md T4). Both sides build the text that is signed, and nobody
 * reads it but people.
 */

/** The namespace that approvals are signed in: `ssh-keygen -Y sign -n pbx-approval`. */
export const APPROVAL_NAMESPACE = "pbx-approval";

/** An approval as it travels. `what` names a change of the desired state. */
export const Approval = z.object({
  what: z.string().max(64).optional(),
  node: z.string().max(64),
  expires: z.string().max(64),
  signature: z.string(),
});
/** One of them. */
export type Approval = z.infer<typeof Approval>;

/** Most approvals of one operation or desired state. */
export const MAX_APPROVALS = 12;

/** The approvals that travel with an operation or a desired state. */
export const Approvals = z.array(Approval).max(MAX_APPROVALS);

/** What is approved: an operation, or a change of the desired state. */
export type ApprovalSubject =
  | {
    readonly kind: "operation";
    readonly operation: string;
    readonly id: string;
    readonly params: JsonObject;
    /** The effective target of a restore or deletion in a bucket; left out elsewhere. */
    readonly bucket?: JsonObject;
  }
  | {
    readonly kind: "change";
    readonly what: string;
    readonly from: JsonValue;
    readonly to: JsonValue;
  };

/** What an approval's text is made of. */
export interface ApprovalFacts {
  readonly cluster: string;
  /** `*` only where an operation may be approved for any node. */
  readonly node: string;
  readonly subject: ApprovalSubject;
  /** RFC 3339, UTC, whole seconds. */
  readonly expires: string;
}

/** The text that is signed. */
export function approvalText({ cluster, node, subject, expires }: ApprovalFacts): string {
  const lines = subject.kind === "operation"
    ? [
      `operation: ${subject.operation}`,
      `id: ${subject.id}`,
      `params: ${canonicalJson(withoutBoxes(subject.params))}`,
      ...(subject.bucket === undefined ? [] : [`bucket: ${canonicalJson(subject.bucket)}`]),
    ]
    : [
      `change: ${subject.what}`,
      `from: ${canonicalJson(withoutBoxes(subject.from))}`,
      `to: ${canonicalJson(withoutBoxes(subject.to))}`,
    ];
  const all = [
    "pbx-approval-v1",
    `cluster: ${cluster}`,
    `node: ${node}`,
    ...lines,
    `expires: ${expires}`,
  ];
  return all.map((line) => `${line}\n`).join("");
}

/** Every sealed box as `{"sealed":true}`: people approve where a secret goes, and a box is new each time. */
export function withoutBoxes(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutBoxes);
  if (!isJsonObject(value)) return value;
  if (Object.keys(value).length === 1 && typeof value["sealed"] === "string") {
    return { sealed: true };
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutBoxes(item)]));
}

/** Kinds that may be approved for any node: what is asked for is the same wherever it is done. */
const ANY_NODE: readonly string[] = ["access.issue", "diag.collect"];
/** The furthest that an approval may expire ahead, milliseconds. */
const MAX_AHEAD_MS = 7 * 24 * 3_600_000;
const EXPIRES = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/;

/** What approvals are judged by. */
export interface ApprovalRules {
  readonly cluster: string;
  readonly node: string;
  readonly keys: readonly SshPublicKey[];
  /** How many different keys must have signed. */
  readonly needed: number;
  /** The latest time of every clock there is, milliseconds since the epoch: for refusing, it counts. */
  readonly latest: number;
  /** The corrected time, milliseconds since the epoch: an approval is not further ahead of it than 7 days. */
  readonly now: number;
  /** Whether the approval of this text was used up: it works once. */
  readonly isUsed?: (text: string) => boolean;
  readonly verify?: Verify;
}

/** Why something is not approved. */
export interface NotApproved {
  readonly code: "approval_missing" | "approval_invalid";
  readonly message: string;
}

/** What was approved, and by whom. */
export interface Approved {
  /** The texts that were signed, each once. */
  readonly texts: readonly { readonly text: string; readonly expires: string }[];
  readonly keys: readonly SshPublicKey[];
}

/** Whether enough different keys approve `subject`. The message names each signature that does not count, and why. */
export async function judgeApprovals(
  subject: ApprovalSubject,
  approvals: readonly Approval[],
  rules: ApprovalRules,
): Promise<Result<Approved, NotApproved>> {
  const relevant = approvals.slice(0, MAX_APPROVALS).filter(({ what }) =>
    subject.kind === "operation" ? what === undefined : what === subject.what
  );
  const signed = new Map<string, { key: SshPublicKey; text: string; expires: string }>();
  const faults: string[] = [];
  for (const approval of relevant) {
    const judged = await judgeOne(subject, approval, rules);
    if (judged.ok) signed.set(judged.value.key.fingerprint, judged.value);
    else faults.push(judged.error);
  }
  if (signed.size >= rules.needed) {
    const used = [...signed.values()];
    const texts = new Map(used.map(({ text, expires }) => [text, { text, expires }]));
    return ok({ texts: [...texts.values()], keys: used.map(({ key }) => key) });
  }
  const count = `${signed.size} of ${rules.needed} approvals`;
  const asked = subject.kind === "operation"
    ? `${subject.operation} ${subject.id}`
    : `the change ${subject.what}`;
  if (faults.length === 0) {
    const message = `${asked} needs the owner's approval (approval_keys): there are ${count}`;
    return fail({ code: "approval_missing", message });
  }
  return fail({ code: "approval_invalid", message: `${asked}: ${count}; ${faults.join("; ")}` });
}

async function judgeOne(
  subject: ApprovalSubject,
  { node, expires, signature }: Approval,
  rules: ApprovalRules,
): Promise<Result<{ key: SshPublicKey; text: string; expires: string }, string>> {
  const isForAny = node === "*" && subject.kind === "operation" &&
    ANY_NODE.includes(subject.operation);
  if (node !== rules.node && !isForAny) {
    return fail(`an approval is for node ${JSON.stringify(node)}, and this is ${rules.node}`);
  }
  const end = timeOf(expires);
  if (end === null) {
    return fail(`an approval's expires is not a UTC time such as 2026-01-01T00:00:00Z`);
  }
  const read = readSshSignature(signature);
  if (!read.ok) return fail(`an approval's signature cannot be read: ${read.error}`);
  const { key, namespace, touch } = read.value;
  const known = rules.keys.find(({ fingerprint }) => fingerprint === key.fingerprint);
  if (known === undefined) return fail(`the key ${key.fingerprint} is not one of approval_keys`);
  const owner = known.comment === "" ? known.fingerprint : known.comment;
  if (namespace !== APPROVAL_NAMESPACE) {
    return fail(
      `${owner} signed in the namespace ${JSON.stringify(namespace)}, not ${APPROVAL_NAMESPACE}`,
    );
  }
  if (end <= rules.latest) return fail(`the approval of ${owner} expired at ${expires}`);
  if (end > rules.now + MAX_AHEAD_MS) {
    return fail(`the approval of ${owner} expires at ${expires}, more than 7 days ahead`);
  }
  if (touch !== null && !touch.isPresent) return fail(`${owner} did not touch the security key`);
  const text = textOrNull({ cluster: rules.cluster, node, subject, expires });
  const bytes = new TextEncoder().encode(text ?? "");
  if (text === null || !await isSshSignatureOf(read.value, bytes, rules.verify)) {
    return fail(`${owner} signed another text than this request makes`);
  }
  if (rules.isUsed?.(text) === true) {
    return fail(`the approval of ${owner} was used before: it works once, so ask for another one`);
  }
  return ok({ key: known, text, expires });
}

/** Milliseconds since the epoch; null where the text is not the one spelling of a time that there is. */
function timeOf(expires: string): number | null {
  const time = EXPIRES.test(expires) ? Date.parse(expires) : Number.NaN;
  if (Number.isNaN(time)) return null;
  return new Date(time).toISOString().replace(".000Z", "Z") === expires ? time : null;
}

function textOrNull(facts: ApprovalFacts): string | null {
  try {
    return approvalText(facts);
  } catch {
    return null;
  }
}
