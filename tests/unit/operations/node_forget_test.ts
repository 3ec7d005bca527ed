import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { nodeForget } from "../../../core/operations/node_forget.ts";
import type { K8sError } from "../../../core/ports/k8s.ts";
import { fail } from "../../../core/result.ts";
import { K3S_CONFIG_FILE } from "../../../core/state/paths.ts";
import { cutMatrix } from "./cut_matrix.ts";
import { createMachine, type Machine, NODE } from "./machine.ts";
import { lease } from "./restore_world.ts";
import { runToy } from "./toy.ts";

/** A cluster with a Node whose kubelet was last heard of a while ago, or renews its Lease. */
function withNode(ready: boolean, renews: boolean): Machine {
  const machine = createMachine();
  machine.k8s.setNode("gone-1", ready);
  lease(machine, "gone-1", machine.clock.now() - 3_600_000);
  const renew = async () => {
    for (let times = 0; renews && times < 50; times++) {
      await machine.clock.sleep(10_000);
      lease(machine, "gone-1");
    }
  };
  void renew();
  return machine;
}

function forgotten(machine: Machine, node = "gone-1") {
  return runToy(machine, nodeForget, { node });
}

Deno.test("node.forget: a Node that is gone is deleted, and one that is not there counts", async () => {
  const machine = withNode(false, false);
  assert.deepEqual((await forgotten(machine)).result, {
    state: "succeeded",
    output: { existed: true },
  });
  assert.equal(machine.k8s.read("/api/v1/nodes/gone-1"), null);
  assert.notEqual(machine.k8s.read(`/api/v1/nodes/${NODE}`), null);
  assert.deepEqual((await forgotten(createMachine(), "none")).result?.output, { existed: false });
});

Deno.test("node.forget: an API that refuses for a moment is asked again", async () => {
  const machine = withNode(false, false);
  const { remove } = machine.ports.k8s;
  let times = 0;
  Object.assign(machine.ports.k8s, {
    remove: (...args: Parameters<typeof remove>) =>
      times++ > 0 ? remove(...args) : Promise.resolve(
        fail<K8sError>({ code: "refused", status: 500, reason: "", message: "leader changed" }),
      ),
  });
  const { result } = await forgotten(machine);
  assert.deepEqual([result?.state, times], ["succeeded", 2]);
  assert.equal(machine.k8s.read("/api/v1/nodes/gone-1"), null);
});

for (const ready of [true, false]) {
  Deno.test(`node.forget: one that ${ready ? "is Ready again" : "only changes"} right before its deletion is looked at once more`, async () => {
    const machine = withNode(false, false);
    const { remove } = machine.ports.k8s;
    let times = 0;
    Object.assign(machine.ports.k8s, {
      remove: (...args: Parameters<typeof remove>) => {
        if (times++ === 0) {
          const metadata = { name: "gone-1", labels: { changed: "yes" } };
          const node = { apiVersion: "v1", kind: "Node", metadata };
          machine.k8s.write("/api/v1/nodes/gone-1", node, "kubectl");
          machine.k8s.setNode("gone-1", ready);
        }
        return remove(...args);
      },
    });
    const { result } = await forgotten(machine);
    assert.deepEqual([result?.code, times], ready ? ["node_alive", 1] : [undefined, 2]);
    assert.equal(machine.k8s.read("/api/v1/nodes/gone-1") !== null, ready);
  });
}

Deno.test("node.forget: a Node that no kubelet ever spoke for goes at once", async () => {
  const machine = createMachine();
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "bare-1" } };
  machine.k8s.write("/api/v1/nodes/bare-1", node, "kubectl");
  const began = machine.clock.now();
  assert.deepEqual((await forgotten(machine, "bare-1")).result?.output, { existed: true });
  assert.equal(machine.clock.now(), began);
});

for (const [ready, renews] of [[true, true], [true, false], [false, true]] as const) {
  Deno.test(`node.forget: one that is ${ready ? "" : "not "}Ready and ${renews ? "renews" : "is silent"} stays`, async () => {
    const machine = withNode(ready, renews);
    const { result } = await forgotten(machine);
    assert.deepEqual([result?.state, result?.code], ["failed", "node_alive"]);
    assert.match(result?.message ?? "", /switch that off, and ask again/);
    assert.notEqual(machine.k8s.read("/api/v1/nodes/gone-1"), null);
  });
}

Deno.test("node.forget: one that is made anew meanwhile stays", async () => {
  const machine = withNode(false, false);
  void machine.clock.sleep(15_000).then(() => {
    machine.k8s.drop("/api/v1/nodes/gone-1");
    machine.k8s.setNode("gone-1", false);
  });
  assert.equal((await forgotten(machine)).result?.code, "node_alive");
});

Deno.test("node.forget: never its own Node, by whichever name", async () => {
  const machine = withNode(false, false);
  machine.host.set({ hostName: "host-name" });
  machine.disk.put(K3S_CONFIG_FILE, "node-name: configured\n");
  for (const name of [NODE, "host-name", "configured"]) {
    machine.k8s.setNode(name, false);
    const state = JSON.parse(machine.disk.text("/var/lib/pbx-agent/state.json") ?? "");
    machine.disk.put(
      "/var/lib/pbx-agent/state.json",
      JSON.stringify({ ...state, operation: null, finished: {} }),
    );
    const { result } = await forgotten(machine, name);
    assert.deepEqual([result?.state, result?.code], ["failed", "own_node"], name);
    assert.notEqual(machine.k8s.read(`/api/v1/nodes/${name}`), null);
  }
  assert.deepEqual(
    machine.k8s.requests().filter(({ method }) => method === "DELETE"),
    [] as JsonObject[],
  );
});

Deno.test("node.forget: killed at every call, the Node is gone and no other", async () => {
  await cutMatrix({
    setUp: () => withNode(false, false),
    offer: () => ({ id: "op-1", kind: "node.forget", params: { node: "gone-1" } }),
    assertEnd(machine, { result, cut }) {
      assert.equal(machine.k8s.read("/api/v1/nodes/gone-1"), null);
      assert.notEqual(machine.k8s.read(`/api/v1/nodes/${NODE}`), null);
      const existed = result.output?.["existed"];
      assert.ok(cut === null ? existed === true : typeof existed === "boolean");
    },
  });
});
