import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import { decodeBase64, encodeBase64 } from "../../../core/protocol/base64.ts";
import { openSealed, type SealingKey, sealingPublicKey } from "../../../core/protocol/sealing.ts";
import { Secret } from "../../../core/secret.ts";
import { createMachine, type Machine } from "./machine.ts";

/** The key pair of whoever asks for access. */
export const ASKER: SealingKey = keyOf(new Uint8Array(32).fill(9));
/** Its public half, as it stands in the parameters. */
export const ASKER_KEY = encodeBase64(ASKER.publicKey);

/** A machine whose cluster has its certificate authority, as Kubernetes puts it into every namespace. */
export function withAuthority(machine: Machine = createMachine()): Machine {
  machine.k8s.write("/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "kube-root-ca.crt", namespace: "kube-system" },
    data: { "ca.crt": "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n" },
  }, "root-ca-cert-publisher");
  return machine;
}

/** An offer of `access.issue` for ada to view; undefined takes a parameter away. */
export function accessOffer(change: Record<string, JsonValue | undefined>) {
  const params = { person: "ada", role: "view", lifetime_s: 600, recipient: ASKER_KEY, ...change };
  return {
    id: "op-1",
    kind: "access.issue",
    params: JSON.parse(JSON.stringify(params)) as JsonObject,
  };
}

/** The kubeconfig in a box, opened with the asker's key. */
export function issued(box: string): string {
  const opened = openSealed(box, [ASKER]);
  assert.ok(opened.ok);
  return opened.value.reveal();
}

/** The agent's own key, which must not open what is the asker's. */
export function identityKey(machine: Machine): SealingKey {
  const { keys } = JSON.parse(machine.disk.text("/var/lib/pbx-agent/identity.json") ?? "");
  return keyOf(decodeBase64(keys.sealing) ?? new Uint8Array());
}

/** Whose objects of a kind that access.issue makes are there, sorted. */
export async function people(machine: Machine, resource = "serviceaccounts"): Promise<string[]> {
  const apiVersion = resource === "serviceaccounts" ? "v1" : "rbac.authorization.k8s.io/v1";
  const found = await machine.k8s.list({ apiVersion, resource }, { "pbx.io/access": "true" });
  assert.ok(found.ok);
  return (found.value ?? []).map((object) => {
    const { labels } = object["metadata"] as { labels: Record<string, string> };
    return labels["pbx.io/person"] ?? "";
  }).sort();
}

function keyOf(secretKey: Uint8Array): SealingKey {
  const secret = new Secret(secretKey);
  return { secretKey: secret, publicKey: sealingPublicKey(secret) };
}
