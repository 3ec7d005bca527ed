/** Files that were copied from another node, beside this one's identity. */
import assert from "node:assert/strict";
import {
  BOOTSTRAP_FILE,
  IDENTITY_FILE,
  STATE_ASIDE_FILE,
  STATE_FILE,
  UPDATE_FILE,
} from "../../../core/state/paths.ts";
import { rollBack } from "../../../core/update/rollback.ts";
import { createFakePrograms } from "../../../adapters/fake/programs.ts";
import { createSettledWorld, createWorld, type World } from "./world.ts";

/** A file of this world as another node would have it. */
function asOther(world: World, path: string, change: (document: Document) => unknown): string {
  return JSON.stringify(change(world.stored(path)));
}
// deno-lint-ignore no-explicit-any -- files of every shape
type Document = any;

Deno.test("state.json of another node: kept aside, its operation does not run, its drop-ins are not written", async () => {
  const world = await createSettledWorld();
  await world.stop();
  const foreign = asOther(world, STATE_FILE, (state) => ({
    ...state,
    agent: "another-agent",
    operation: {
      id: "theirs",
      kind: "snapshot.save",
      params: {},
      begun_at: "2026-01-01T12:00:00Z",
      step: null,
      steps: [],
      handed: {},
      events: [],
      seq: 0,
    },
  }));
  world.disk.put(STATE_FILE, foreign);
  world.portal.down = true;
  world.start();
  await world.pass(40_000);
  assert.equal(world.stored().operation, null);
  assert.equal(world.stored().agent, world.stored(IDENTITY_FILE).binding.agent_id);
  assert.equal(world.disk.text(STATE_ASIDE_FILE), foreign);
  assert.match(world.log.of("state_lost")[0]?.message ?? "", /belongs to agent another-agent/);
});

Deno.test("state.json of an earlier version: taken, and named at the next write", async () => {
  const world = await createSettledWorld();
  await world.stop();
  const { agent, ...earlier } = world.stored();
  world.disk.put(STATE_FILE, JSON.stringify(earlier));
  world.start();
  await world.pass(40_000);
  assert.equal(world.stored().agent, agent);
  assert.deepEqual(world.log.of("state_lost"), []);
});

Deno.test("bootstrap.json of another node: a fresh node does not become that one", async () => {
  const other = await createSettledWorld();
  const world = createWorld();
  world.start();
  world.portal.down = true;
  await world.pass(10_000);
  await world.stop();
  assert.equal(world.stored(IDENTITY_FILE).binding, null);
  const answer = other.stored(BOOTSTRAP_FILE);
  answer.answer.agent_id = "another-agent";
  // The worlds draw the same keys, so the boxes of a third one stand for another node's.
  const identity = world.stored(IDENTITY_FILE);
  identity.keys.sealing = btoa(String.fromCharCode(...new Uint8Array(32).fill(7)));
  world.disk.put(IDENTITY_FILE, JSON.stringify(identity));
  world.disk.put(BOOTSTRAP_FILE, JSON.stringify(answer));
  world.portal.down = false;
  world.start();
  await world.pass(70_000);
  const { binding } = world.stored(IDENTITY_FILE);
  assert.notEqual(binding.agent_id, "another-agent");
  assert.equal(world.stored(BOOTSTRAP_FILE).answer.agent_id, binding.agent_id);
  assert.ok(world.log.of("bootstrap_unreadable").length > 0);
});

Deno.test("bootstrap.json of another node beside an enrolled one is not used", async () => {
  const world = await createSettledWorld();
  await world.stop();
  const foreign = asOther(world, BOOTSTRAP_FILE, (document) => ({
    ...document,
    answer: { ...document.answer, agent_id: "another-agent" },
  }));
  world.disk.put(BOOTSTRAP_FILE, foreign);
  world.start();
  await world.pass(40_000);
  assert.match(world.log.of("bootstrap_unreadable")[0]?.message ?? "", /belongs to agent/);
  assert.ok((await world.status()).problems.some((one) => /belongs to agent/.test(one)));
});

Deno.test("update.json of another node: the rollback does nothing", async () => {
  const world = await createSettledWorld();
  await world.stop();
  const trial = {
    format: 1,
    agent: "another-agent",
    from: "0.0.9",
    to: "0.1.0",
    armed_at: "2026-01-01T12:00:00Z",
    deadline: "2026-01-01T12:10:00Z",
  };
  world.disk.put(UPDATE_FILE, JSON.stringify(trial));
  const { disk, systemd, clock, log } = world;
  const end = await rollBack({ disk, systemd, clock, log, programs: createFakePrograms(disk) });
  assert.deepEqual(end, { ok: true, value: "nothing" });
});
