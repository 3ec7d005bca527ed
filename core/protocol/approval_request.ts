import * as z from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { fail, ok, type Result } from "../result.ts";
import { type ApprovalSubject, approvalText } from "./approval.ts";
import { neededChanges, targetOf } from "./approved_changes.ts";
import { subjectOf } from "./approved_operations.ts";
import { isCronSchedule } from "./cron.ts";
import { type NamedRegistries, Registries, shownRegistries } from "./registries.ts";
import { describeIssue } from "./schema_error.ts";

/** What a text is asked for: who it is for, and until when. */
export interface TextRequest {
  readonly cluster: string;
  readonly node: string;
  readonly expires: string;
  /** The accepted desired state; null where there is none. */
  readonly accepted: JsonValue;
  /**
   * The change from the newest release to an older one, which no desired state tells. `from` is null where
   * the agent does not know its newest.
   */
  readonly olderRelease: { readonly from: JsonObject | null; readonly to: JsonObject } | null;
  /** The registries that the release of the desired state names; none where that is not known. */
  readonly namedRegistries?: NamedRegistries;
}

/** A text to sign. `what` names the change; null for an operation. */
export interface ApprovalTextOf {
  readonly what: string | null;
  readonly text: string;
}

const Settings = z.object({
  endpoint: z.string(),
  bucket: z.string(),
  region: z.string(),
  folder: z.string(),
  endpoint_ca: z.string().optional(),
  bucket_lookup: z.string().optional(),
});
const Snapshots = z.looseObject({
  schedule: z.string().refine(isCronSchedule, "is not a valid five-field cron schedule"),
  retention: z.number(),
  named_retention: z.number().optional(),
});
const Desired = z.object({
  secrets: z.object({ etcd_s3: Settings.optional() }),
  host: z.object({ snapshots: Snapshots, registries: Registries.optional() }),
});
const Asked = z.object({
  id: z.string(),
  kind: z.string(),
  params: z.record(z.string(), z.json()),
});

/**
 * The texts to sign for an operation, or for the changes of a desired state that need an approval: what the
 * agent builds by itself. Secrets may stand in it in clear (`{"plain": ...}`): no text has any of them.
 */
export function approvalTexts(
  document: JsonValue,
  request: TextRequest,
): Result<readonly ApprovalTextOf[], string> {
  const subjects = subjectsOf(boxed(document), request);
  if (!subjects.ok) return subjects;
  const { cluster, node, expires } = request;
  return ok(subjects.value.map((subject) => ({
    what: subject.kind === "change" ? subject.what : null,
    text: approvalText({ cluster, node, expires, subject }),
  })));
}

function subjectsOf(
  document: JsonValue,
  { accepted, olderRelease, namedRegistries = [] }: TextRequest,
): Result<readonly ApprovalSubject[], string> {
  const before = accepted === null ? null : Desired.safeParse(boxed(accepted));
  if (before?.success === false) {
    return fail(`the accepted desired state: ${describeIssue(before.error)}`);
  }
  const { secrets, host } = before?.data ?? {};
  if (isJsonObject(document) && document["kind"] !== undefined) {
    const asked = Asked.safeParse(document);
    if (!asked.success) return fail(`the operation: ${describeIssue(asked.error)}`);
    const { id, kind, params } = asked.data;
    return ok([subjectOf({ id, kind, params: params as JsonObject }, secrets?.etcd_s3)]);
  }
  const desired = Desired.safeParse(document);
  if (!desired.success) return fail(`the desired state: ${describeIssue(desired.error)}`);
  const changes: ApprovalSubject[] = [
    ...neededChanges(
      {
        s3Target: secrets?.etcd_s3 === undefined ? undefined : targetOf(secrets.etcd_s3),
        snapshots: host?.snapshots ?? null,
        registries: host?.registries === undefined ? null : shownRegistries(host.registries),
      },
      desired.data,
      { s3Target: null, registries: namedRegistries },
    ),
  ];
  if (olderRelease !== null) {
    changes.push({ kind: "change", what: "older_release", ...olderRelease });
  }
  return ok(changes);
}

/** Secrets in clear as boxes. */
function boxed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(boxed);
  if (!isJsonObject(value)) return value;
  if (Object.keys(value).length === 1 && typeof value["plain"] === "string") {
    return { sealed: "" };
  }
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, boxed(item)]));
}
