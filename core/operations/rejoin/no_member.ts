import { memberOfNode } from "../../cluster/kubernetes_facts.ts";
import type { Ports } from "../../ports/mod.ts";
import { K3S_SERVER_DIRECTORY } from "../../state/paths.ts";
import type { NodeFacts } from "../node_facts.ts";
import { nodeNames } from "../snapshots/find_snapshots.ts";
import type { Quorum } from "./quorum.ts";

/**
 * Whether this node's k3s is surely a member of no etcd: it has never made certificates here, without which
 * it neither runs one nor is asked by one, and its Node names none. What cannot be found out is no.
 *
 * @param looked this operation looked before, and found that k3s may be stopped: its API may be down now
 */
export async function isNoMember(
  { ports, node }: { readonly ports: Ports; readonly node: NodeFacts },
  looked: boolean,
): Promise<boolean> {
  if (!await hasNoCertificates(ports)) return false;
  if (looked) return true;
  for (const name of await nodeNames(ports, node)) {
    const found = await ports.k8s.get({ apiVersion: "v1", resource: "nodes", name });
    if (!found.ok) return false;
    if (found.value !== null && memberOfNode(found.value) !== null) return false;
  }
  return true;
}

/** Whether this node's k3s has surely never made certificates. */
export async function hasNoCertificates({ disk }: Ports): Promise<boolean> {
  const certificates = await disk.stat(`${K3S_SERVER_DIRECTORY}/tls/server-ca.crt`);
  return certificates.ok && certificates.value === null;
}

/** What such a node's cluster loses by a wipe: nothing, and there is nobody who could be asked. */
export const NO_MEMBER: Quorum = {
  own: [],
  isOwnHealthy: false,
  healthyOthers: [],
  isSafe: true,
  words: "k3s is no member of etcd here: it has no certificates, and its Node names no member",
};
