import assert from "node:assert/strict";
import type { QueuedOperation } from "../../../adapters/portal/state.ts";
import { STATE_FILE } from "../../../core/state/paths.ts";
import { createSettledWorld, type World } from "./world.ts";

const PATH = "/operations/*";
const DAY_MS = 24 * 3_600_000;

/** An operation that this agent does not know: its one answer is a result without events. */
function offer(world: World, id = "op-1"): QueuedOperation {
  return world.portal.offer({ id, kind: "no.such", params: {} });
}

function sent(world: World, id = "op-1"): number {
  return world.requests(`/operations/${id}/events`);
}

Deno.test("events: an unknown kind is answered unsupported, once, and the journal is done", async () => {
  const world = await createSettledWorld();
  const operation = offer(world);
  await world.pass(70_000);
  assert.equal(operation.result?.state, "unsupported");
  assert.deepEqual(operation.events, []);
  assert.equal(sent(world), 1);
  assert.equal(world.stored().operation, null);
  assert.equal(world.lastReport().operation, null);
  await world.stop();
});

Deno.test("events: an ID that could name no file is never used", async () => {
  for (const id of ["", "../x", "a/b", "-a", "_a", "a".repeat(65), "ä", "a b"]) {
    const world = await createSettledWorld();
    world.portal.offer({ id, kind: "no.such", params: {} }, "raw-1");
    await world.pass(70_000);
    assert.deepEqual(world.conditions(), ["invalid_operation"], id);
    assert.equal(world.portal.asked().some((one) => one.includes("/operations/")), false);
    assert.equal(world.stored().operation, null);
    // And the desired state beside it counts.
    world.portal.desire({ servers: 1 });
    await world.pass(36_000);
    assert.equal(world.stored().desired.state.revision, 2);
    world.portal.portal.state.operations.length = 0;
    await world.pass(70_000);
    assert.deepEqual(world.conditions(), []);
    await world.stop();
  }
});

Deno.test("events: IDs that are names of every object are IDs like any other", async () => {
  for (const id of ["constructor", "toString", "hasOwnProperty", "valueOf"]) {
    const world = await createSettledWorld();
    const operation = offer(world, id);
    await world.pass(70_000);
    assert.equal(operation.result?.state, "unsupported", id);
    await world.stop();
    world.start();
    await world.pass(36_000);
    assert.equal(world.stored().finished[id].result.state, "unsupported");
    await world.stop();
  }
});

Deno.test("events: sent until acknowledged, over lost answers, 5xx and restarts, in their own backoff", async () => {
  for (
    const action of [{ cut: "after" }, { cut: "before" }, { status: 503 }, { malformed: true }]
  ) {
    const world = await createSettledWorld();
    world.portal.fault({ match: { path: PATH }, count: 3, action });
    const operation = offer(world);
    await world.pass(36_000);
    assert.notEqual(world.stored().operation, null);
    const syncs = world.requests("/sync");
    await world.stop();
    world.start();
    await world.pass(70_000);
    assert.equal(operation.result?.state, "unsupported", JSON.stringify(action));
    assert.equal(world.stored().operation, null);
    assert.equal(sent(world), 4);
    assert.ok(world.requests("/sync") >= syncs + 3);
    await world.stop();
  }
});

Deno.test("events: an answer without a usable acked is malformed and asked for again", async () => {
  const world = await createSettledWorld();
  const action = { merge: { acked: "all" } };
  world.portal.fault({ match: { path: PATH }, count: 2, action });
  const operation = offer(world);
  await world.pass(70_000);
  assert.equal(sent(world), 3);
  assert.equal(operation.result?.state, "unsupported");
  assert.equal(world.stored().operation, null);
  await world.stop();
});

Deno.test("events: 404 unknown_operation discards them, and the ID is not run again", async () => {
  const world = await createSettledWorld();
  const error = { code: "unknown_operation", message: "m" };
  world.portal.fault({ match: { path: PATH }, action: { status: 404, body: { error } } });
  offer(world);
  await world.pass(34_000);
  assert.equal(sent(world), 1);
  assert.equal(world.stored().finished["op-1"].result.state, "unsupported");
  // Offered again, the stored result is sent.
  await world.pass(36_000);
  assert.equal(sent(world), 2);
  assert.equal(world.stored().operation, null);
  await world.stop();
});

Deno.test("events: 429 is waited out by events alone", async () => {
  const world = await createSettledWorld();
  world.portal.fault({
    match: { path: PATH },
    action: { status: 429, headers: { "Retry-After": "300" } },
  });
  offer(world);
  const syncs = world.requests("/sync");
  await world.pass(300_000);
  assert.equal(sent(world), 1);
  assert.ok(world.requests("/sync") - syncs >= 8);
  await world.pass(40_000);
  assert.equal(sent(world), 2);
  await world.stop();
});

Deno.test("events: a result that is refused with 400 is given up in the end, told, and kept", async () => {
  const world = await createSettledWorld();
  world.portal.fault({ match: { path: PATH }, count: null, action: { status: 400 } });
  offer(world);
  await world.pass(20 * 60_000);
  assert.deepEqual(world.conditions(), ["report_rejected"]);
  assert.equal(world.stored().finished["op-1"].result.state, "unsupported");
  // Without log and output it is the same request, and that is sent three times in all.
  assert.equal(sent(world), 3);

  // The next operation may run.
  world.portal.portal.memory.faults.length = 0;
  world.portal.portal.state.operations.length = 0;
  const next = offer(world, "op-2");
  await world.pass(70_000);
  assert.equal(next.result?.state, "unsupported");

  // Offered again after a restart, the kept one is sent.
  await world.stop();
  world.start();
  const again = offer(world);
  await world.pass(70_000);
  assert.equal(again.result?.state, "unsupported");
  await world.pass(36_000);
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});

Deno.test("events: an ID finished within 30 days is answered from the state file, later anew", async () => {
  const world = await createSettledWorld();
  const first = offer(world);
  await world.pass(70_000);
  const { at } = world.stored().finished["op-1"];
  await world.stop();
  await world.clock.advance(29 * DAY_MS);
  first.again = true;
  world.start();
  await world.pass(36_000);
  assert.equal(sent(world), 2);
  assert.equal(world.stored().finished["op-1"].at, at);
  await world.stop();
  // By the portal's time it is old enough now; the agent has not lived so long.
  await world.clock.advance(2 * DAY_MS);
  first.again = true;
  world.start();
  await world.pass(36_000);
  assert.equal(sent(world), 3);
  assert.equal(world.stored().finished["op-1"].at, at);
  await world.stop();
  const state = world.stored();
  state.clock.lived_ms += 30 * DAY_MS;
  world.disk.put(STATE_FILE, JSON.stringify(state));
  first.again = true;
  world.start();
  await world.pass(36_000);
  assert.equal(sent(world), 4);
  assert.notEqual(world.stored().finished["op-1"].at, at);
  await world.stop();
});

Deno.test("events: another operation waits until the one before is acknowledged", async () => {
  const world = await createSettledWorld();
  world.portal.fault({ match: { path: PATH }, count: 4, action: { status: 503 } });
  const one = offer(world);
  await world.pass(36_000);
  // The portal changes its mind and offers another one.
  const { operations } = world.portal.portal.state;
  const two = offer(world, "op-2");
  operations.reverse();
  await world.pass(36_000);
  assert.equal(sent(world, "op-2"), 0);
  await world.pass(200_000);
  assert.equal(one.result?.state, "unsupported");
  assert.equal(two.result?.state, "unsupported");
  await world.stop();
});

Deno.test("events: stored before they are sent: a full disk keeps the operation from being taken", async () => {
  const world = await createSettledWorld();
  world.disk.setReadOnly(true);
  const operation = offer(world);
  await world.pass(70_000);
  assert.equal(sent(world), 0);
  assert.ok(world.conditions().includes("disk_full"));
  world.disk.setReadOnly(false);
  await world.pass(70_000);
  assert.equal(operation.result?.state, "unsupported");
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});
