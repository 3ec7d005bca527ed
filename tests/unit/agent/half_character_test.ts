import assert from "node:assert/strict";
import { createSettledWorld } from "./world.ts";

Deno.test("exchange: a text that was cut inside a character makes no body that strict readers refuse", async () => {
  const world = await createSettledWorld();
  // 499 units and a character of two: the report takes 500.
  const name = `${"n".repeat(499)}🐢 and so on`;
  world.disk.put("/etc/os-release", `PRETTY_NAME="${name}"\n`, 0o644);
  const bodies: string[] = [];
  const peer = world.portal.peer.bind(world.portal);
  world.portal.peer = (request) => {
    bodies.push(new TextDecoder().decode(request.body));
    return peer(request);
  };
  await world.stop();
  world.start();
  await world.pass(40_000);
  assert.ok(bodies.length > 0);
  for (const body of bodies) assert.doesNotMatch(body, /\\ud[89a-f]/, body.slice(0, 2_000));
  assert.equal(world.lastReport().node.os, `${"n".repeat(499)}\ufffd`);

  // What is written out stays as it is, a backslash before it or not.
  const quoted = "a \\ud800 of text, a \\\\ud800 and a 🐢";
  world.disk.put("/etc/os-release", `PRETTY_NAME='${quoted}'\n`, 0o644);
  await world.stop();
  world.start();
  await world.pass(40_000);
  assert.equal(world.lastReport().node.os, quoted);
  await world.stop();
});
