import type { JsonObject } from "../json.ts";
import { bucketLineOf } from "./approved_changes.ts";
import type { ApprovalSubject } from "./approval.ts";
import type { EtcdS3 } from "./secrets.ts";

/** What a bucket's settings say of the place. */
type Place = Pick<EtcdS3, "endpoint" | "bucket" | "region" | "folder">;

/**
 * The operations that the owner has to approve (trust.md T4): what destroys, opens, or sends data elsewhere.
 * A function says that only some of a kind do.
 */
const NEEDED: Readonly<Record<string, (params: JsonObject) => boolean>> = {
  "cluster.restore": always,
  "server.rejoin": always,
  "node.forget": always,
  "node.reboot": always,
  "snapshot.delete": always,
  "access.issue": always,
  "access.revoke": ({ everyone }) => everyone === true,
  "diag.collect": always,
  "node.drain": ({ delete_emptydir }) => delete_emptydir === true,
};

function always(): boolean {
  return true;
}

/** Whether an operation needs an approval; `more`: the kinds that config.yaml adds. */
export function needsApproval(
  kind: string,
  params: JsonObject,
  more: readonly string[],
): boolean {
  return more.includes(kind) || (Object.hasOwn(NEEDED, kind) && NEEDED[kind]?.(params) === true);
}

/** The kinds whose target in a bucket is a part of what is approved. */
const WITH_BUCKET = ["cluster.restore", "snapshot.delete"];

/** What is approved of an operation. `own`: the cluster's own bucket. */
export function subjectOf(
  { id, kind, params }: { readonly id: string; readonly kind: string; readonly params: JsonObject },
  own: Place | undefined,
): ApprovalSubject {
  const bucket = WITH_BUCKET.includes(kind) && params["from"] === "s3"
    ? effectiveBucket(params, own)
    : null;
  return { kind: "operation", operation: kind, id, params, ...(bucket === null ? {} : { bucket }) };
}

function effectiveBucket(params: JsonObject, own: Place | undefined): JsonObject | null {
  if (params["endpoint"] === undefined) return own === undefined ? null : bucketLineOf(own);
  const text = (name: string) => String(params[name] ?? "");
  return bucketLineOf({
    endpoint: text("endpoint"),
    bucket: text("bucket"),
    region: text("region"),
    folder: text("folder"),
  });
}
