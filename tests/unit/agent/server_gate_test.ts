import assert from "node:assert/strict";
import { createFakeClock } from "../../../adapters/fake/clock.ts";
import { createFakeLog } from "../../../adapters/fake/log.ts";
import { createFakeMetadata } from "../../../adapters/fake/metadata.ts";
import { createFakeRandom } from "../../../adapters/fake/random.ts";
import { portsAround } from "../../../adapters/fake/ports_around.ts";
import type { Ports } from "../../../core/ports/mod.ts";
import { ok } from "../../../core/result.ts";
import { openGate, portsBehind } from "../../../core/agent/server_gate.ts";
import { liveOnServer } from "../../../core/agent/server_guard.ts";
import { nodePorts } from "../../../cli/node_ports.ts";
import { createMachine } from "../operations/machine.ts";

/** What only looks, and goes on while the gate is closed; S3 is only read from. */
const LOOKS = new Set([
  ...["disk.read", "disk.list", "disk.stat", "disk.inspect", "disk.sha256", "disk.freeBytes"],
  ...["systemd.unitState", "systemd.journal", "k3s.version", "k8s.ready", "k8s.get", "k8s.list"],
  ...["servers.look", "servers.isHealthy", "servers.authority", "s3.list", "s3.head", "s3.get"],
  ...["snapshotFile.inspect", "boot.booted", "boot.look", "machine.facts", "machine.processes"],
  // And what the real adapters have beside their port.
  ...["metadata.instanceId", "http.close", "k8s.close"],
]);
/** What rests on a question that was asked just before. */
const FAILS = ["http.request", "k8s.create", "k8s.remove", "k8s.apply", "servers.removeMember"];

/** The ports of a real node, none of whose calls reaches it. */
function recorded(): { ports: Ports; reached: string[] } {
  const reached: string[] = [];
  const around = (name: string) => {
    reached.push(name);
    const nothing = () => Promise.resolve(ok(undefined));
    return Promise.resolve(ok({ write: nothing, finish: nothing, discard: nothing }));
  };
  return { ports: portsAround(nodePorts({ root: "/nonexistent" }), around, () => false), reached };
}

Deno.test({
  name:
    "portsBehind: whatever is not a look waits at a closed gate, and goes on or fails when it opens",
  // The ports of a real node may hold a client of the runtime, which the port does not close.
  sanitizeResources: false,
  async fn() {
    const { ports, reached } = recorded();
    const gate = openGate();
    const behind = portsBehind(gate, ports);
    const members = Object.entries(behind).flatMap(([port, whole]) =>
      Object.entries(whole).filter(([, member]) => typeof member === "function").map(([name]) =>
        [port, name] as const
      )
    ).filter(([port]) => !["clock", "random", "log"].includes(port));
    const call = async ([port, name]: readonly [string, string]) => {
      const member = Reflect.get(Reflect.get(behind, port), name) as (
        ...args: unknown[]
      ) => unknown;
      return await member("/x", "/y");
    };
    assert.ok(members.length > 40);

    for (const member of members) await call(member);
    assert.equal(reached.length, members.length, "an open gate lets everything pass");

    reached.length = 0;
    gate.close();
    const calls = members.map(call);
    await new Promise((resolve) => setTimeout(resolve, 0));
    assert.deepEqual([...reached].sort(), [...LOOKS].sort());

    reached.length = 0;
    gate.open();
    const ends = await Promise.all(calls);
    const names = members.map((member) => member.join("."));
    assert.deepEqual(
      reached.sort(),
      names.filter((name) => !LOOKS.has(name) && !FAILS.includes(name)).sort(),
    );
    for (const [index, name] of names.entries()) {
      assert.equal((ends[index] as { readonly ok: boolean }).ok, !FAILS.includes(name), name);
    }
  },
});

Deno.test("gate: one that is closed again before the one who waited had its turn holds it", async () => {
  const gate = openGate();
  gate.close();
  let passed = false;
  const waiting = gate.pass().then(() => passed = true);
  gate.open();
  gate.close();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.equal(passed, false);
  gate.open();
  await waiting;
});

Deno.test("liveOnServer: on another server the life is told to end, and a new one begins when it is the right one", async () => {
  const clock = createFakeClock();
  const metadata = createFakeMetadata({ code: "connect", message: "no network" });
  const ports = {
    ...createMachine().ports,
    clock,
    metadata,
    random: createFakeRandom(1),
    log: createFakeLog(),
  };
  const stop = new AbortController();
  const lives: AbortSignal[] = [];
  const end = liveOnServer(ports, stop.signal, "1", (_ports, stop) => {
    lives.push(stop);
    return new Promise<"ended">(() => {});
  });
  await clock.advance(3_000);
  assert.equal(lives.length, 1, "without an answer it begins");
  metadata.answer("2");
  await clock.advance(70_000);
  assert.equal(lives[0]?.aborted, true);
  assert.equal(stop.signal.aborted, false);
  metadata.answer("1");
  await clock.advance(700_000);
  assert.equal(await end, null);
  assert.equal(clock.pending().count, 0, "nothing is left that asks");
});
