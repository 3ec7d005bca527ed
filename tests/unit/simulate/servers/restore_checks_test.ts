import assert from "node:assert/strict";
import { createFakeClock } from "../../../../adapters/fake/clock.ts";
import { Secret } from "../../../../core/secret.ts";
import { checkRestored } from "../../../../simulate/servers/restore_checks.ts";
import { createRestorePortal } from "../../../../simulate/servers/restore_portal.ts";
import { createServersWorld } from "../../../../simulate/servers/world.ts";

/** Three servers whose agents do not run, with a portal that has heard of nobody. */
function world() {
  const clock = createFakeClock();
  const key = new Secret(new Uint8Array(32));
  const portal = createRestorePortal({
    clock,
    size: 3,
    releaseKeys: [key, key],
    verify: () => true,
  });
  const servers = createServersWorld({
    size: 3,
    random: () => 0.5,
    clock,
    peer: portal.peer,
    sign: () => new Uint8Array(64),
  });
  const write = (name: string, value: string) =>
    servers.etcd.k8s.write(`/api/v1/namespaces/default/configmaps/${name}`, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default" },
      data: { value },
    }, "customer");
  const broken = () =>
    checkRestored(servers, portal).filter(({ holds }) => !holds).map(({ name }) => name);
  return { ...servers, portal, write, broken };
}

const NOBODY_LEADS = "one leads, and holds the Lease";
const DATA = "the data of the snapshot is on every server";

Deno.test("checkRestored: data that is not the snapshot's, and data that is younger", () => {
  const { write, broken } = world();
  assert.deepEqual(broken(), [DATA, NOBODY_LEADS]);
  write("orders", "first");
  assert.deepEqual(broken(), [NOBODY_LEADS]);
  write("orders", "second");
  write("invoices", "first");
  assert.deepEqual(broken(), [
    DATA,
    "what was written after the snapshot is gone",
    NOBODY_LEADS,
  ]);
});

Deno.test("checkRestored: a member that is missing, and an operation without a result", () => {
  const { write, servers, portal, broken } = world();
  write("orders", "first");
  servers[2]?.powerOff();
  portal.offer("demo-1", "r1", "snapshot.save");
  assert.deepEqual(broken(), [
    DATA,
    "3 members, each of them up",
    NOBODY_LEADS,
    "every operation has exactly one result",
  ]);
});

Deno.test("createEtcd: two of the old servers at once are the old cluster beside the restored one", () => {
  const { write, servers, etcd, broken } = world();
  write("orders", "first");
  const kept = etcd.keep(0);
  write("orders", "second");
  for (const server of servers) server.stopK3s();
  const member = etcd.reset(0, kept);
  servers[0]?.machine.disk.put("/var/lib/rancher/k3s/server/db/etcd/name", member);
  servers[0]?.startK3s();
  servers[1]?.startK3s();
  assert.deepEqual([0, 1, 2].map(etcd.isUp), [true, false, false], "one of three has no majority");
  servers[2]?.startK3s();
  assert.deepEqual([0, 1, 2].map(etcd.isUp), [true, true, true]);
  assert.notEqual(etcd.shownBy(1), etcd.shownBy(0));
  assert.ok(broken().includes(DATA));
  assert.ok(broken().includes("3 members, each of them up"));
});
