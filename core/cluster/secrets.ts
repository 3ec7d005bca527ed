import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { ObjectRef } from "../ports/k8s.ts";
import { encodeBase64 } from "../protocol/base64.ts";
import type { EtcdS3 } from "../protocol/secrets.ts";
import type { Secret } from "../secret.ts";
import { ADDON_LABEL, MANAGED_LABEL } from "./allowed_object.ts";

/** One Kubernetes object and where it lives. */
export interface ClusterObject {
  readonly ref: ObjectRef;
  readonly object: JsonObject;
}

/** The settings of the snapshot bucket that are no secrets (protocol §3). */
export type EtcdS3Settings = Omit<EtcdS3, "access_key" | "secret_key">;

const MANAGED = { [MANAGED_LABEL]: "true" };

/** `kube-system/hcloud`: what Hetzner's cloud controller reads (k3s fact J). */
export function hcloudSecret(token: Secret, network?: string): ClusterObject {
  return secretObject("hcloud", "Opaque", {
    "token": token.reveal(),
    ...(network === undefined ? {} : { "network": network }),
  });
}

/**
 * `kube-system/pbx-etcd-s3`: where k3s keeps snapshots, as its `etcd-s3-config-secret` wants it (k3s
 * fact B). k3s takes the endpoint without a scheme; one that is plain HTTP is said by
 * `etcd-s3-insecure`.
 */
export function etcdS3Secret(
  settings: EtcdS3Settings,
  accessKey: Secret,
  secretKey: Secret,
): ClusterObject {
  const { endpoint, bucket, region, folder, endpoint_ca, bucket_lookup } = settings;
  return secretObject("pbx-etcd-s3", "etcd.k3s.cattle.io/s3-config-secret", {
    "etcd-s3-endpoint": endpoint.replace(/^https?:\/\//, "").replace(/\/$/, ""),
    ...(endpoint.startsWith("http://") ? { "etcd-s3-insecure": "true" } : {}),
    "etcd-s3-bucket": bucket,
    "etcd-s3-region": region,
    "etcd-s3-folder": folder,
    "etcd-s3-access-key": accessKey.reveal(),
    "etcd-s3-secret-key": secretKey.reveal(),
    ...(endpoint_ca === undefined ? {} : { "etcd-s3-endpoint-ca": endpoint_ca }),
    ...(bucket_lookup === undefined ? {} : { "etcd-s3-bucket-lookup-type": bucket_lookup }),
  });
}

/**
 * Whether the Secret in the cluster is as wanted: the same type, the same data, and at least the wanted
 * labels. Labels and annotations of others may stay; a key of data that is not wanted counts as a
 * difference, because the agent's Secrets are its alone.
 */
export function sameSecret(live: JsonObject | null, wanted: JsonObject): boolean {
  if (live === null || live["type"] !== wanted["type"]) return false;
  const [liveData, wantedData] = [mapOf(live["data"]), mapOf(wanted["data"])];
  const labelsOf = (object: JsonObject) => mapOf(mapOf(object["metadata"])["labels"]);
  return Object.keys(liveData).length === Object.keys(wantedData).length &&
    holds(liveData, wantedData) && holds(labelsOf(live), labelsOf(wanted));
}

/**
 * What to apply before `wanted` where the live Secret holds keys of data that are not wanted; null where
 * it holds none. Server-side apply leaves alone what others own, so a key that somebody else added would
 * stay for ever: applied once with another value it is ours alone, and goes with the next apply.
 */
export function claimOfExtraKeys(live: JsonObject | null, wanted: JsonObject): JsonObject | null {
  const [liveData, wantedData] = [mapOf(live?.["data"]), mapOf(wanted["data"])];
  const extra = Object.keys(liveData).filter((key) => !Object.hasOwn(wantedData, key));
  if (extra.length === 0) return null;
  const claims = Object.fromEntries(extra.map((key) => [key, liveData[key] === "" ? "LQ==" : ""]));
  return { ...wanted, data: { ...wantedData, ...claims } };
}

/**
 * `kube-system/pbx-addon-<name>`: the secret options of an add-on, and the only object that they reach
 * (operations.md, Add-ons). k3s encrypts Secrets at rest, not the objects of charts.
 */
export function addonSecret(addon: string, data: ReadonlyMap<string, Secret>): ClusterObject {
  const values = Object.fromEntries([...data].map(([key, value]) => [key, value.reveal()]));
  return secretObject(addonSecretName(addon), "Opaque", values, {
    ...MANAGED,
    [ADDON_LABEL]: addon,
  });
}

/** The name of the one Secret that an add-on has. */
export function addonSecretName(addon: string): string {
  return `pbx-addon-${addon}`;
}

function secretObject(
  name: string,
  type: string,
  values: Readonly<Record<string, string>>,
  labels: JsonObject = MANAGED,
): ClusterObject {
  const namespace = "kube-system";
  const data: Record<string, string> = {};
  for (const [key, value] of Object.entries(values)) {
    data[key] = encodeBase64(new TextEncoder().encode(value));
  }
  return {
    ref: { apiVersion: "v1", resource: "secrets", namespace, name },
    object: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace, labels },
      type,
      data,
    },
  };
}

function mapOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function holds(live: JsonObject, wanted: JsonObject): boolean {
  return Object.keys(wanted).every((key) => Object.hasOwn(live, key) && live[key] === wanted[key]);
}
