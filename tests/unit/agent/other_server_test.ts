/** A disk that was copied to another server: two servers must not act as one agent. */
import assert from "node:assert/strict";
import { STATE_DIRECTORY } from "../../../core/state/paths.ts";
import { SERVER } from "./portal_inside.ts";
import { createSettledWorld, createWorld, type World } from "./world.ts";

const OTHER = "99887766";

const SILENT = { code: "connect", message: "no route to host" } as const;

/** Everything that a server on the wrong disk must leave alone. */
function traces(world: World) {
  return {
    signed: world.signed().length,
    writes: world.disk.writes().length,
    units: JSON.stringify([...world.systemd.units]),
  };
}

/** A settled agent whose disk starts again where the metadata service gives `answer`. */
async function copied(answer: Parameters<World["metadata"]["answer"]>[0]): Promise<World> {
  const world = await createSettledWorld();
  await world.stop();
  world.reboot();
  world.metadata.answer(answer);
  return world;
}

Deno.test("other_server: nothing is signed, written or started, and status says whose disk it is", async () => {
  const world = await copied(OTHER);
  const before = traces(world);
  world.start();
  await world.pass(3 * 3_600_000);
  assert.deepEqual(traces(world), before);
  assert.equal(world.ended(), null);
  assert.ok(world.log.of("other_server").length === 1);
  const status = await world.status();
  assert.equal(status.stage, "other_server");
  assert.equal(status.server_id, SERVER);
  assert.equal(status.runs_on, OTHER);
  assert.match(status.other_server ?? "", /uninstall --yes/);
  assert.equal((await world.stop()).kind, "stopped");
  assert.deepEqual(traces(world), before);
});

Deno.test("other_server: a metadata service that was wrong parks the agent for a while, not for good", async () => {
  const world = await copied(OTHER);
  const before = traces(world);
  world.start();
  await world.pass(600_000);
  world.metadata.answer(SERVER);
  await world.pass(60_000);
  assert.deepEqual(traces(world), before, "two readings of the right server are needed as well");
  await world.pass(700_000);
  assert.ok(traces(world).signed > before.signed);
  assert.equal((await world.status()).stage, "syncing");
});

Deno.test("other_server: one wrong answer holds the agent back until the second one, and no longer", async () => {
  const world = await copied(OTHER);
  const before = traces(world);
  world.start();
  await world.pass(1_000);
  world.metadata.answer(SERVER);
  await world.pass(58_000);
  assert.deepEqual(traces(world), before);
  await world.pass(10_000);
  assert.ok(traces(world).signed > before.signed);
  const asked = world.metadata.asked();
  await world.pass(3_600_000);
  assert.equal(world.metadata.asked(), asked, "once it is certain, it is not asked again");
});

Deno.test("other_server: no answer is no verdict and holds nothing up", async () => {
  const world = await copied(SILENT);
  const before = traces(world);
  world.start();
  await world.pass(3_000);
  assert.ok(traces(world).signed > before.signed);
  assert.equal((await world.status()).runs_on, null);
  const asked = world.metadata.asked();
  await world.pass(3_600_000);
  assert.ok(world.metadata.asked() >= asked + 11, "it is asked for ever");
});

Deno.test("other_server: a metadata service that hangs holds a start up by 2 s at most", async () => {
  const world = await copied(OTHER);
  const before = traces(world);
  world.start((ports) => ({ ...ports, metadata: { instanceId: () => new Promise(() => {}) } }));
  await world.pass(1_900);
  assert.equal(traces(world).signed, before.signed);
  await world.pass(200);
  assert.ok(traces(world).signed > before.signed);
  assert.equal((await world.stop()).kind, "stopped");
});

Deno.test("other_server: an answer that comes late stops what runs, the lease and operations too", async () => {
  const world = await copied(SILENT);
  world.start();
  await world.pass(40_000);
  world.portal.offer({ id: "save-1", kind: "snapshot.save", params: {} });
  await world.pass(31_000);
  world.metadata.answer(OTHER);
  await world.pass(700_000);
  const before = traces(world);
  await world.pass(3 * 3_600_000);
  assert.deepEqual(traces(world), before);
  assert.ok(world.log.of("other_server").length === 1);
  assert.equal((await world.stop()).kind, "stopped");
});

Deno.test("other_server: a doubt that passes lets go on what stood still", async () => {
  const world = await copied(SILENT);
  world.start();
  await world.pass(1);
  world.metadata.answer(OTHER);
  // Until the next question after trouble, which is less than 8 s away.
  await world.pass(8_000);
  const before = traces(world);
  await world.pass(40_000);
  assert.deepEqual(traces(world), before);
  world.metadata.answer(SERVER);
  await world.pass(120_000);
  assert.ok(traces(world).signed >= before.signed + 2);
  assert.deepEqual(world.conditions(), []);
});

Deno.test("other_server: a revoked agent asks the portal nothing there", async () => {
  const world = await createSettledWorld();
  for (const agent of world.portal.portal.state.agents.values()) agent.revoked = true;
  await world.pass(40_000);
  assert.equal(world.stored().stage, "revoked");
  await world.stop();
  world.metadata.answer(OTHER);
  const before = traces(world);
  world.start();
  await world.pass(3 * 3_600_000);
  assert.deepEqual(traces(world), before);
});

Deno.test("other_server: an answer to the enrollment that is not in identity.json yet counts as well", async () => {
  const world = await createSettledWorld();
  await world.stop();
  const identity = world.stored(`${STATE_DIRECTORY}/identity.json`);
  world.disk.put(
    `${STATE_DIRECTORY}/identity.json`,
    JSON.stringify({ ...identity, binding: null }),
  );
  world.metadata.answer(OTHER);
  const before = traces(world);
  world.start();
  await world.pass(3_600_000);
  assert.deepEqual(traces(world), before);
});

Deno.test("other_server: a node that is not enrolled asks only when it enrolls", async () => {
  const world = createWorld();
  world.start();
  await world.pass(70_000);
  assert.equal(world.stored().first_start, "done");
  assert.equal(world.metadata.asked(), 1);
});

Deno.test("status: files that others could read are told", async () => {
  const world = await createSettledWorld();
  await world.stop();
  assert.deepEqual((await world.status()).wrong_modes, []);
  await world.disk.restrict(`${STATE_DIRECTORY}/identity.json`, 0o640);
  const { wrong_modes: wrong } = await world.status();
  assert.match(wrong.join(), /identity\.json has mode 0640/);
  world.start();
  await world.pass(1_000);
  assert.deepEqual((await world.status()).wrong_modes, []);
});
