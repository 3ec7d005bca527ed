import { namespaceUid } from "../../cluster/kubernetes_facts.ts";
import { readK3sSettings } from "../../host/k3s_settings.ts";
import type { Ports } from "../../ports/mod.ts";
import { lookAtDatabase } from "../restore/database.ts";
import type { Proof } from "../restore/prove.ts";
import { memberName } from "./quorum.ts";
import { findTarget } from "./target.ts";

const KUBE_SYSTEM = { apiVersion: "v1", resource: "namespaces", name: "kube-system" } as const;
const K3S_KIND = {
  apiVersion: "apiextensions.k8s.io/v1",
  resource: "customresourcedefinitions",
  name: "addons.k3s.cattle.io",
} as const;

/**
 * Proves that this server is in its cluster again: its own API is up on etcd, kube-system is the one that
 * is known, k3s's own kinds are there, and the cluster counts this server's member with a vote.
 *
 * @param noMember it was a member of no etcd: then the cluster is proven, and nobody is asked for members
 */
export async function proveJoined(
  ports: Ports,
  uid: string,
  noMember: boolean,
): Promise<Proof | { readonly kind: "joined"; readonly members: number }> {
  const { k8s, disk, servers } = ports;
  const look = await lookAtDatabase(disk);
  if (!look.ok) return waits(look.error.message);
  const { etcd, sqliteWrittenAt } = look.value;
  if (sqliteWrittenAt !== null) {
    return { kind: "wrong", why: "k3s came up with an sqlite database instead of joining" };
  }
  // Unreadable says nothing about it; k3s does not start with one that is not YAML.
  const settings = await readK3sSettings(disk);
  if (!settings.ok) return waits(settings.error);
  const target = noMember ? null : await findTarget(ports);
  if (target?.ok === false) return { kind: "wrong", why: target.error };
  if (!await k8s.ready()) {
    const joins = target === null ? "" : `: k3s joins ${target.value.url}`;
    return waits(`the API's /readyz does not say 200${joins}`);
  }
  const namespace = await k8s.get(KUBE_SYSTEM);
  if (!namespace.ok) return waits(namespace.error.message);
  const found = namespace.value === null ? null : namespaceUid(namespace.value);
  if (found === null) return waits("the namespace kube-system is not there");
  if (found !== uid) {
    const why = `it is another cluster: kube-system has the UID ${found} and not ${uid}`;
    return { kind: "wrong", why };
  }
  const kind = await k8s.get(K3S_KIND);
  if (!kind.ok) return waits(kind.error.message);
  if (kind.value === null) return waits("k3s's own kinds are not there");
  if (target === null) return { kind: "proven", uid };
  const { url, token } = target.value;
  const name = etcd === "whole" ? await memberName(ports) : null;
  const view = await servers.look(url, token);
  if (!view.ok) return waits(view.error.message);
  const own = view.value.members.find((member) => member.name === name);
  if (own === undefined) return waits("this server is no member of the cluster's etcd yet");
  if (own.isLearner) return waits("etcd still fills this server's member");
  return { kind: "joined", members: view.value.members.length };
}

function waits(why: string): Proof {
  return { kind: "waits", why };
}
