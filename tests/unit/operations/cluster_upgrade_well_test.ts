import assert from "node:assert/strict";
import { createFakeServers } from "../../../adapters/fake/servers.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { EtcdMember } from "../../../core/ports/servers.ts";
import { ok } from "../../../core/result.ts";
import { K3S_CONFIG_FILE } from "../../../core/state/paths.ts";
import { runCut } from "./cut_matrix.ts";
import { NODE } from "./machine.ts";
import { CERTIFICATE, TOKEN, UID } from "./rejoin_world.ts";
import { withServers } from "./servers.ts";
import { upgradeCase } from "./upgrade_case.ts";
import { createUpgradeMachine, FROM_ENTRY, type UpgradeMachine } from "./upgrade_world.ts";

/** What becomes of an upgrade of this machine. */
async function upgraded(machine: UpgradeMachine) {
  const one = upgradeCase(() => machine);
  const { result } = await runCut({ ...one, assertEnd() {} }, null);
  if (result.state !== "succeeded") assert.deepEqual(machine.boots, [FROM_ENTRY]);
  return result;
}

function putDeployment({ k8s }: UpgradeMachine, status: "True" | "False"): void {
  k8s.write("/apis/apps/v1/namespaces/kube-system/deployments/traefik", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "traefik", namespace: "kube-system" },
    spec: {},
    status: { conditions: [{ type: "Available", status }] },
  }, "kube-controller-manager");
}

Deno.test("cluster.upgrade: a Deployment that is broken already is told before anything is changed", async () => {
  const machine = createUpgradeMachine();
  putDeployment(machine, "False");
  const result = await upgraded(machine);
  assert.deepEqual([result.step, result.code], ["preflight", "checks_failed"]);
  assert.match(result.message ?? "", /Deployment kube-system\/traefik is not available: the new/);
});

Deno.test("cluster.upgrade: a Deployment that is only starting is waited for", async () => {
  const machine = createUpgradeMachine();
  putDeployment(machine, "False");
  void machine.clock.sleep(20_000).then(() => putDeployment(machine, "True"));
  assert.equal((await upgraded(machine)).state, "succeeded");
});

/** A server of several, of whose other members of etcd these answer. */
function withMembers(others: readonly string[], answering: readonly string[]): UpgradeMachine {
  const machine = createUpgradeMachine();
  const own = `${NODE}-00000001`;
  const named = (name: string): EtcdMember => ({
    id: name,
    name,
    clientUrls: [],
    isLearner: false,
  });
  const { get } = machine.ports.k8s;
  const annotations = { "etcd.k3s.cattle.io/node-name": own };
  const noted = (node: JsonObject) => ({ ...node, metadata: { name: NODE, annotations } });
  Object.assign(machine.ports, {
    servers: createFakeServers({
      look: () => ({ kubeSystemUid: UID, members: [own, ...others].map(named) }),
      isHealthy: ({ name }) => name === own || answering.includes(name),
      remove: () => false,
    }),
    k8s: {
      ...machine.ports.k8s,
      async get(ref: Parameters<typeof get>[0]) {
        const found = await get(ref);
        if (ref.resource !== "nodes" || !found.ok || found.value === null) return found;
        return ok(noted(found.value));
      },
    },
  });
  machine.disk.put(K3S_CONFIG_FILE, `token: "${TOKEN}"\n`);
  machine.disk.put(CERTIFICATE, "PEM");
  return withServers(machine, others.length + 1);
}

Deno.test("cluster.upgrade: no restart of a server without which etcd has no majority", async () => {
  const result = await upgraded(withMembers(["b", "c"], ["b"]));
  assert.deepEqual([result.step, result.code], ["preflight", "checks_failed"]);
  assert.match(
    result.message ?? "",
    /3 members, 2 healthy, losing this one leaves 1: no majority: the cluster would stand still/,
  );
});

Deno.test("cluster.upgrade: a member that is down is no reason where a majority is left, nor are two servers", async () => {
  for (
    const [others, answering] of [
      [["b", "c", "d", "e"], ["b", "c", "d"]],
      [["b", "c"], ["b", "c"]],
      [["b"], ["b"]],
    ] as const
  ) {
    const result = await upgraded(withMembers(others, answering));
    assert.equal(result.state, "succeeded", result.message);
  }
});
