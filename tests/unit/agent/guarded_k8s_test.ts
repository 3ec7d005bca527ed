import assert from "node:assert/strict";
import { guardedK8s } from "../../../core/agent/custody.ts";
import { createMachine, openAgent } from "../operations/machine.ts";
import { createWorld } from "./world.ts";

Deno.test("guardedK8s: a cluster that is replaced between the look and the write gets nothing", async () => {
  const world = createWorld();
  let switches = false;
  world.start((ports) => ({
    ...ports,
    k8s: {
      ...ports.k8s,
      get(ref) {
        if (switches && ref.name === "hcloud") {
          world.k8s.showCluster(1);
          world.k8s.forgetRequests();
        }
        return ports.k8s.get(ref);
      },
    },
  }));
  await world.pass(70_000);
  switches = true;
  await world.pass(36_000);
  assert.match(world.log.text(), /secrets_not_applied.*another cluster/);
  assert.equal(world.k8s.writes(), 0);
  await world.stop();
});

Deno.test("guardedK8s: every kind of write asks, and a slow answer counts as none", async () => {
  const machine = createMachine();
  const context = await openAgent(machine.ports);
  const ref = { apiVersion: "v1", resource: "namespaces", name: "x" } as const;
  const object = { apiVersion: "v1", kind: "Namespace", metadata: { name: "x" } };
  const k8s = guardedK8s(context);
  const works = () => [k8s.apply(ref, object), k8s.create(ref, object), k8s.remove(ref)];
  assert.equal((await k8s.apply(ref, object)).ok, true);
  assert.equal((await k8s.remove(ref)).ok, true);
  machine.k8s.showCluster(1);
  machine.k8s.forgetRequests();
  for (const ended of await Promise.all(works())) {
    assert.equal(ended.ok, false);
    assert.equal(ended.ok ? "" : ended.error.code, "unreachable");
  }
  assert.equal(machine.k8s.writes(), 0);
  machine.k8s.showCluster(0);

  const slow = guardedK8s({
    ...context,
    ports: {
      ...machine.ports,
      k8s: {
        ...machine.ports.k8s,
        async get(ref) {
          await machine.clock.sleep(3_000);
          return await machine.ports.k8s.get(ref);
        },
      },
    },
  });
  const waiting = slow.apply(ref, object);
  await machine.clock.advance(3_000);
  const ended = await waiting;
  assert.match(ended.ok ? "" : ended.error.message, /took 3000 ms/);
  assert.equal(machine.k8s.writes(), 0);
});
