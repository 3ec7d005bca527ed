import assert from "node:assert/strict";
import { createWorld } from "./world.ts";

Deno.test("api_down: not said of a node that was just enrolled, but of one whose k3s does not start", async () => {
  const world = createWorld();
  world.systemd.units.delete("k3s.service");
  world.start();
  await world.pass(5_000);
  assert.equal(world.lastReport().node.api, "down");
  assert.deepEqual(world.conditions(), []);
  await world.pass(70_000);
  assert.equal(world.stored().first_start, "start");
  assert.deepEqual(world.conditions(), ["api_down"]);

  // It survives a restart: the first cycle after it does not take it away.
  await world.stop();
  world.start();
  await world.pass(5_000);
  assert.deepEqual(world.conditions(), ["api_down"]);

  world.systemd.units.set("k3s.service", { state: "inactive", enabled: false });
  await world.pass(70_000);
  assert.equal(world.stored().first_start, "done");
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});
