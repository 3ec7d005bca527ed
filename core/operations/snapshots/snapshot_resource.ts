import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import type { CollectionRef } from "../../ports/k8s.ts";

/** What k3s itself tells of its snapshots: ETCDSnapshotFile (k3s fact C). */
export const SNAPSHOT_RESOURCES: CollectionRef = {
  apiVersion: "k3s.cattle.io/v1",
  resource: "etcdsnapshotfiles",
};

/** One copy of a snapshot as k3s tells of it: news, not proof. */
export interface SnapshotResource {
  readonly file: string;
  readonly location: "s3" | "local";
  /** Bytes; null where k3s tells none. */
  readonly size: number | null;
  /** RFC 3339, or null. */
  readonly createdAt: string | null;
  /** Why k3s could not make this copy. */
  readonly error: string | null;
  readonly tokenHash: string | null;
}

/** Reads an ETCDSnapshotFile; null for an object that names no snapshot. */
export function snapshotResource(object: JsonObject): SnapshotResource | null {
  const [metadata, spec, status] = [object["metadata"], object["spec"], object["status"]].map(map);
  const file = spec?.["snapshotName"];
  if (typeof file !== "string" || file === "") return null;
  const size = Number(status?.["size"] ?? Number.NaN);
  const error = map(status?.["error"]);
  const hash = map(metadata?.["annotations"])["etcd.k3s.cattle.io/snapshot-token-hash"];
  return {
    file,
    location: spec?.["s3"] === undefined || spec["s3"] === null ? "local" : "s3",
    size: Number.isSafeInteger(size) && size > 0 ? size : null,
    createdAt: text(status?.["creationTime"]),
    error: Object.keys(error).length === 0 ? null : text(error["message"]) ?? "for no given reason",
    tokenHash: text(hash),
  };
}

function map(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function text(value: JsonValue | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
