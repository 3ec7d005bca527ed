import * as z from "zod";
import type { JsonValue } from "../../../core/json.ts";
import { ReleaseVersion } from "../../../core/protocol/identifiers.ts";
import { Release } from "../../../core/protocol/release.ts";
import { describeIssue } from "../../../core/protocol/schema_error.ts";
import { ARTIFACT_NAME } from "../artifact.ts";
import { type Answer, json, refuse } from "../http/message.ts";
import type { Portal } from "../portal.ts";
import { RELEASE_SIGNERS, type StoredRelease } from "../state.ts";
import { type Call, readCall, unknown } from "./admin.ts";

const PutRelease = z.strictObject({
  payload: z.json().optional(),
  raw: z.boolean().default(false),
  signed_by: z.array(z.enum(RELEASE_SIGNERS)).default(["first", "second"]),
  tampered: z.boolean().default(false),
  envelope: z.json().optional(),
});

/** `PUT /admin/releases/{version}`: a release as it should be, or broken in a chosen way. */
export function putRelease(call: Call): Answer {
  const version = call.names[0] ?? "";
  if (!ReleaseVersion.safeParse(version).success) {
    return refuse(400, "invalid_request", "the path names no release version");
  }
  const body = readCall(call, PutRelease);
  if (!body.ok) return body.error;
  const { payload, raw, signed_by: signedBy, tampered, envelope } = body.value;
  if (payload === undefined && envelope === undefined) {
    return refuse(400, "invalid_request", "say a payload or an envelope");
  }
  const fault = raw || payload === undefined ? null : faultOf(payload as JsonValue, version);
  if (fault !== null) return refuse(400, "invalid_request", fault);
  const release: StoredRelease = {
    payload: (payload ?? null) as JsonValue,
    signedBy,
    tampered,
    ...(envelope === undefined ? {} : { envelope: envelope as JsonValue }),
  };
  call.portal.state.releases.set(version, release);
  call.portal.touch();
  return json(200, {});
}

/** `DELETE /admin/releases/{version}`. */
export function deleteRelease(call: Call): Answer {
  if (!call.portal.state.releases.delete(call.names[0] ?? "")) return unknown("release");
  call.portal.touch();
  return json(200, {});
}

/** `PUT /admin/artifacts/{name}`: the body's bytes, as they are. */
export function putArtifact(call: Call): Answer {
  const name = call.names[0] ?? "";
  if (!ARTIFACT_NAME.test(name)) {
    return refuse(400, "invalid_request", "the path names no artifact");
  }
  call.portal.store.saveArtifact(name, call.request.body);
  return json(200, { url: `${call.portal.origin()}/artifacts/${name}` });
}

/** A release of the portal as agents read it; null where it has none of that version, or a broken one. */
export function storedRelease(portal: Portal, version: string): Release | null {
  const stored = portal.state.releases.get(version);
  if (stored === undefined || stored.envelope !== undefined) return null;
  const parsed = readPayload(stored.payload);
  return parsed.success ? parsed.data : null;
}

function readPayload(payload: JsonValue) {
  const shown = JSON.parse(JSON.stringify(payload).replaceAll("{portal}", "http://127.0.0.1"));
  return Release.safeParse(shown);
}

function faultOf(payload: JsonValue, version: string): string | null {
  const parsed = readPayload(payload);
  const raw = `(with "raw": true it is sent all the same)`;
  if (!parsed.success) return `payload: ${describeIssue(parsed.error)} ${raw}`;
  return parsed.data.version === version ? null : `payload.version: is not ${version} ${raw}`;
}
