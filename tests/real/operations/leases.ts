import { kubectl } from "../../lab/k3s_unit.ts";
import type { Node } from "../first_start/node.ts";

/** Renews the Lease by which a kubelet shows that it lives, and makes it where there is none. */
export async function renewLease({ container }: Node, name: string): Promise<void> {
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: "kube-node-lease" },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
  };
  await kubectl(container, ["apply", "-f", "-"], JSON.stringify(lease));
}
