import * as z from "zod";
import { checkOptions } from "../../../core/agent/check_options.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../core/json.ts";
import { DesiredState } from "../../../core/protocol/desired_state.ts";
import { EnrollAnswer } from "../../../core/protocol/enroll.ts";
import { Sha256Hex } from "../../../core/protocol/identifiers.ts";
import { describeIssue } from "../../../core/protocol/schema_error.ts";
import { type Answer, json, refuse } from "../http/message.ts";
import { mergePatch } from "../faults.ts";
import { asSent } from "../as_sent.ts";
import type { Cluster } from "../state.ts";
import { tagOf } from "../sync.ts";
import { type Call, readCall, unknown } from "./admin.ts";
import { storedRelease } from "./releases.ts";
import { viewCluster } from "./view.ts";

const PutDesired = z.strictObject({
  desired: z.json(),
  raw: z.boolean().default(false),
  tag: z.json().optional(),
});

/** `PUT /admin/clusters/{id}/desired`: a whole desired state, or with `raw` anything at all. */
export function putDesired(call: Call): Answer {
  const cluster = clusterOf(call);
  if (cluster === null) return unknown("cluster");
  const body = readCall(call, PutDesired);
  if (!body.ok) return body.error;
  const { desired, raw, tag } = body.value;
  return setDesired(call, cluster, { document: desired, raw, tag });
}

/** `PATCH /admin/clusters/{id}/desired`: a merge patch; counts `revision` up unless it says one. */
export function patchDesired(call: Call): Answer {
  const cluster = clusterOf(call);
  if (cluster === null) return unknown("cluster");
  const body = readCall(call, z.record(z.string(), z.json()));
  if (!body.ok) return body.error;
  const before = cluster.desired.document;
  const revision = isJsonObject(before) ? before["revision"] : undefined;
  const counted = typeof revision === "number" ? { revision: revision + 1 } : {};
  const document = mergePatch(before, { ...counted, ...body.value } as JsonObject);
  return setDesired(call, cluster, { document, raw: cluster.desired.raw, tag: undefined });
}

function setDesired(call: Call, cluster: Cluster, setting: Cluster["desired"]): Answer {
  if (!setting.raw && setting.document !== null) {
    const fault = faultOfDesired(call, setting.document);
    if (fault !== null) {
      return refuse(400, "invalid_request", `${fault} (with "raw": true it is sent all the same)`);
    }
  }
  cluster.desired = setting;
  call.portal.touch();
  return json(200, { desired_tag: tagOf(call.portal, setting) });
}

/** Why no agent would take this desired state, or null. */
function faultOfDesired(call: Call, document: JsonValue): string | null {
  const sent = asSent(call.portal, document);
  if (!sent.ok) return `desired: ${sent.error}`;
  const desired = DesiredState.safeParse(sent.value);
  if (!desired.success) return `desired: ${describeIssue(desired.error)}`;
  const release = storedRelease(call.portal, desired.data.release);
  const options = release === null ? null : checkOptions(desired.data, release);
  return options === null || options.ok ? null : options.error.message;
}

const PatchCluster = z.strictObject({
  expected_image_sha256: Sha256Hex.nullable().optional(),
  bootstrap: z.record(z.string(), z.json()).optional(),
  raw: z.boolean().default(false),
});

/** `PATCH /admin/clusters/{id}`: the image check, and a merge patch for later enrollments. */
export function patchCluster(call: Call): Answer {
  const cluster = clusterOf(call);
  if (cluster === null) return unknown("cluster");
  const body = readCall(call, PatchCluster);
  if (!body.ok) return body.error;
  const { bootstrap: patch, expected_image_sha256: image, raw } = body.value;
  const bootstrap = mergePatch(cluster.bootstrap, (patch ?? {}) as JsonObject) as JsonObject;
  const fault = raw ? null : faultOfBootstrap(call, cluster, bootstrap);
  if (fault !== null) return refuse(400, "invalid_request", fault);
  cluster.bootstrap = bootstrap;
  if (image !== undefined) cluster.expectedImageSha256 = image;
  call.portal.touch();
  return json(200, viewCluster(call.portal, cluster));
}

/** `GET /admin/clusters/{id}`. */
export function getCluster(call: Call): Answer {
  const cluster = clusterOf(call);
  return cluster === null ? unknown("cluster") : json(200, viewCluster(call.portal, cluster));
}

/** The cluster that the path names. */
export function clusterOf(call: Call): Cluster | null {
  return call.portal.state.clusters.get(call.names[0] ?? "") ?? null;
}

function faultOfBootstrap(call: Call, cluster: Cluster, bootstrap: JsonValue): string | null {
  const sent = asSent(call.portal, bootstrap);
  if (!sent.ok) return `bootstrap: ${sent.error}`;
  const answer = {
    agent_id: "agent",
    cluster_id: cluster.id,
    node_name: cluster.id,
    ...sent.value as JsonObject,
    time: call.portal.time(),
  };
  const parsed = EnrollAnswer.safeParse(answer);
  return parsed.success ? null : `bootstrap: ${describeIssue(parsed.error)}`;
}
