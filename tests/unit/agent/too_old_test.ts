import assert from "node:assert/strict";
import { PROGRAM_FILE } from "../../../core/state/paths.ts";
import { agentConditions, live, says, updating } from "./updating.ts";
import { createSettledWorld } from "./world.ts";

for (const path of ["/operations/*", "/rotate-key", "/releases/1.0.1/*"]) {
  Deno.test(`own update: 426 to ${path} updates to the named release's agent, though syncs are taken`, async () => {
    const world = await updating();
    const error = { code: "protocol_too_old", message: "m", release: "2.0.0" };
    world.portal.fault({ match: { path }, count: null, action: { status: 426, body: { error } } });
    const release = path.startsWith("/releases") ? "1.0.1" : "1.0.0";
    world.portal.desire({ release, agent: { version: "0.1.0" }, addons: [] });
    const kind = path === "/rotate-key" ? "agent.rotate_key" : "no.such";
    world.portal.offer({ id: "op-1", kind, params: {} });
    await live(world, 120_000);
    assert.equal(world.disk.text(PROGRAM_FILE), says("0.2.0"));
    await world.stop();
  });
}

Deno.test("own update: a 426 to events is forgotten once they are taken", async () => {
  const world = await createSettledWorld();
  const error = { code: "protocol_too_old", message: "m", release: "9.9.9" };
  const fault = {
    match: { path: "/operations/*" },
    count: 4,
    action: { status: 426, body: { error } },
  };
  world.portal.fault(fault);
  world.portal.offer({ id: "op-1", kind: "no.such", params: {} });
  await world.pass(95_000);
  assert.match(agentConditions(world), /^update_failed: .*9\.9\.9/);
  await world.pass(300_000);
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});
