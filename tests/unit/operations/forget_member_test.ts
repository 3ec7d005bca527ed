import assert from "node:assert/strict";
import { createFakeServers } from "../../../adapters/fake/servers.ts";
import { nodeForget } from "../../../core/operations/node_forget.ts";
import type { EtcdMember } from "../../../core/ports/servers.ts";
import { K3S_CONFIG_FILE } from "../../../core/state/paths.ts";
import { createMachine, type Machine, NODE } from "./machine.ts";
import { CERTIFICATE, TOKEN, UID } from "./rejoin_world.ts";
import { runToy } from "./toy.ts";

/** Members by their names' first letters: those of gone-1 and of the servers a, b, … */
interface Members {
  readonly all: readonly string[];
  readonly answering: readonly string[];
  readonly learners?: readonly string[];
}

/** A machine whose cluster has these members; the Node gone-1 is silent, and k3s notes its member on it. */
function withMembers(members: Members | null, noted: string | null = "gone-1-00000001"): Machine {
  const named = (name: string): EtcdMember => ({
    id: name,
    name,
    clientUrls: [],
    isLearner: members?.learners?.includes(name) === true,
  });
  const machine = createMachine(() => ({
    servers: createFakeServers({
      look: (url, token) =>
        members === null || url !== "https://127.0.0.1:6443" || token.reveal() !== TOKEN
          ? null
          : { kubeSystemUid: UID, members: members.all.map(named) },
      isHealthy: ({ name }) => members?.answering.includes(name) === true,
      remove: () => false,
    }),
  }));
  machine.disk.put(K3S_CONFIG_FILE, `token: "${TOKEN}"\n`);
  machine.disk.put(CERTIFICATE, "PEM");
  machine.k8s.setNode("gone-1", false);
  const annotations = noted === null ? {} : { "etcd.k3s.cattle.io/node-name": noted };
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "gone-1", annotations } };
  machine.k8s.write("/api/v1/nodes/gone-1", node, "k3s-etcd");
  return machine;
}

async function forgotten(machine: Machine) {
  const { result } = await runToy(machine, nodeForget, { node: "gone-1" });
  const isThere = machine.k8s.read("/api/v1/nodes/gone-1") !== null;
  assert.equal(isThere, result?.state !== "succeeded");
  return result;
}

const GONE = "gone-1-00000001";

Deno.test("node.forget: a silent Node whose member of etcd answers lives", async () => {
  const all = [GONE, "a", "b"];
  const result = await forgotten(withMembers({ all, answering: all }));
  assert.equal(result?.code, "node_alive");
  assert.match(result?.message ?? "", /its member of etcd, gone-1-00000001, answers/);
});

Deno.test("node.forget: never without a majority of others, as this server sees them", async () => {
  const all = [GONE, "a", "b", "c", "d"];
  const result = await forgotten(withMembers({ all, answering: ["a", "b"] }));
  assert.equal(result?.code, "no_majority");
  assert.match(
    result?.message ?? "",
    /5 members, 2 healthy, losing this one leaves 2: no majority/,
  );
  const learners = ["c"];
  const filled = withMembers({ all: [GONE, "a", "b", "c"], answering: ["a", "c"], learners });
  assert.equal((await forgotten(filled))?.code, "no_majority");
});

Deno.test("node.forget: a member that is gone, where the others are a majority, goes with its Node", async () => {
  const all = [GONE, "a", "b", "c", "d"];
  assert.equal(
    (await forgotten(withMembers({ all, answering: ["a", "b", "c"] })))?.state,
    "succeeded",
  );
});

Deno.test("node.forget: a member that is none any more, or none that k3s ever noted, takes nobody's vote", async () => {
  for (const noted of ["gone-1-00000009", null]) {
    const machine = withMembers({ all: ["a", "b"], answering: ["a"] }, noted);
    assert.equal((await forgotten(machine))?.state, "succeeded");
  }
});

Deno.test("node.forget: a server that joined anew is known by its name until k3s notes its new member", async () => {
  const all = [GONE, "a", "b"];
  const result = await forgotten(withMembers({ all, answering: all }, "gone-1-00000000"));
  assert.equal(result?.code, "node_alive");
});

Deno.test("node.forget: an etcd that does not tell is no leave to delete", async () => {
  const result = await forgotten(withMembers(null));
  assert.equal(result?.code, "checks_failed");
  assert.match(result?.message ?? "", /its etcd does not tell: .*connection refused/);
});

Deno.test("node.forget: where k3s has never made certificates there is no etcd to ask", async () => {
  const machine = withMembers(null);
  await machine.disk.remove(CERTIFICATE);
  assert.equal((await forgotten(machine))?.state, "succeeded");
  assert.notEqual(machine.k8s.read(`/api/v1/nodes/${NODE}`), null);
});
