import assert from "node:assert/strict";
import { createSettledWorld, type World } from "./world.ts";

const DNS = "external-dns";

function desireDns(world: World): void {
  const addon = { name: DNS, enabled: true, options: { domain: "example.com" } };
  world.portal.desire({
    addons: [{ ...addon, secret_options: { api_token: { plain: "a-token" } } }],
  });
}

function told(world: World) {
  return world.lastReport().addons[0];
}

for (const status of [429, 500, 503, 504]) {
  Deno.test(`addons: ${status} from the API is pending, told since when, and no condition`, async () => {
    const world = await createSettledWorld();
    world.k8s.breakWith({ kind: "status", status });
    // The node's API answers otherwise: only the cluster's objects are out of reach.
    world.k8s.setReady(true);
    desireDns(world);
    await world.pass(80_000);
    const first = told(world);
    assert.equal(first?.state, "pending", JSON.stringify(first));
    await world.pass(20 * 60_000);
    assert.equal(told(world)?.state, "pending");
    assert.equal(world.conditions().some((code) => code.includes("addon_failed")), false);
    world.k8s.breakWith(null);
    await world.pass(70_000);
    assert.match(told(world)?.message ?? "", /is being installed/);
    await world.stop();
  });
}
