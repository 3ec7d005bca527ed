import assert from "node:assert/strict";
import { enrollBody, keysOf, rotateBody } from "./client.ts";
import { assertRefused, inWorld } from "./world.ts";

Deno.test("startPortal: goes on after a restart with everything it had promised", async () => {
  const stateDir = await Deno.makeTempDir();
  try {
    const { agent, token, tag } = await inState(stateDir, async (world) => {
      const agent = await world.enroll();
      const patch = { host: { ingress: "none" } };
      await world.admin("PATCH", "/admin/clusters/demo/desired", patch);
      const tag = (await world.sync(agent)).body.desired_tag;
      await world.admin("POST", "/admin/clusters/demo/operations", { id: "op-1", kind: "x" });
      await world.sync(agent);
      const events = [{ seq: 1, at: "2026-03-01T12:00:00Z", step: null, state: "started" }];
      await world.client.send({ path: "/operations/op-1/events", body: { events }, agent });
      const body = rotateBody(agent.id, keysOf(2));
      await world.client.send({ path: "/rotate-key", body, agent });
      await world.admin("PUT", "/admin/clock", { offset_ms: 5000 });
      return { agent, token: world.token, tag };
    });
    await inState(stateDir, async (world) => {
      const body = enrollBody(token, agent.keys);
      const again = await world.client.send({ path: "/enroll", body });
      assert.deepEqual(again.body, { ...agent.answer, time: "2026-03-01T12:00:05.000Z" });
      const known = { desired: { revision: 2, tag } };
      const { desired, operation } =
        (await world.sync({ id: agent.id, keys: keysOf(2) }, known)).body;
      assert.deepEqual([desired, operation.id], [null, "op-1"]);
      // The new key has signed a sync, so the old one is gone.
      assertRefused(await world.sync(agent), 401, "bad_signature");
      const { body: state } = await world.admin("GET", "/admin/state");
      assert.equal(state.operations[0].acked, 1);
    });
  } finally {
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("startPortal: has promised on disk before it answers", async () => {
  const stateDir = await Deno.makeTempDir();
  try {
    await inState(stateDir, async (world) => {
      const { id } = await world.enroll();
      const saved = await Deno.readTextFile(`${stateDir}/portal.json`);
      assert.ok(saved.includes(id));
      assert.ok(!saved.includes(world.token), "tokens are kept as hashes");
      assert.equal(((await Deno.stat(`${stateDir}/portal.json`)).mode ?? 0) & 0o777, 0o600);
    });
  } finally {
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("startPortal: refuses a state that it cannot read, and keeps it", async () => {
  const stateDir = await Deno.makeTempDir();
  const path = `${stateDir}/portal.json`;
  try {
    for (const text of ['{"format": 2}', "no JSON"]) {
      await Deno.writeTextFile(path, text);
      await assert.rejects(inState(stateDir, () => Promise.resolve()));
      assert.equal(await Deno.readTextFile(path), text);
    }
  } finally {
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("startPortal: refuses a base that is no path", async () => {
  for (const base of ["agent/v1", "/", "/a/", "/a?b"]) {
    await assert.rejects(inWorld(() => Promise.resolve(), { base }), /base/);
  }
});

type Test<T> = (world: Parameters<Parameters<typeof inWorld>[0]>[0]) => Promise<T>;

async function inState<T>(stateDir: string, test: Test<T>): Promise<T> {
  const results: T[] = [];
  await inWorld(async (world) => {
    results.push(await test(world));
  }, { stateDir });
  return results[0] as T;
}
