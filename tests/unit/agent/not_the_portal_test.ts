import assert from "node:assert/strict";
import { createSettledWorld } from "./world.ts";

const PAGE = { text: "<html>log in</html>", headers: { "content-type": "text/html" } };

for (const status of [401, 403, 407]) {
  Deno.test(`not_the_portal: a ${status} of a proxy is waited out and told`, async () => {
    const world = await createSettledWorld();
    const count = 4;
    world.portal.fault({ match: { path: "/sync" }, count, action: { status, ...PAGE } });
    await world.pass(40_000);
    assert.equal(world.stored().revoked, false);
    const codes = world.stored().conditions.map(({ code }: { code: string }) => code);
    assert.deepEqual(codes, ["not_the_portal"]);
    const status_ = await world.status();
    assert.deepEqual([status_.stage, status_.trouble?.code], ["syncing", "not_the_portal"]);
    await world.pass(120_000);
    // The report of the sync that got through says it still, the next one does not.
    assert.deepEqual(world.conditions(), []);
    assert.ok(world.reports().some(({ conditions }) => conditions.some(isNotThePortal)));
    assert.equal((await world.status()).trouble, null);
    await world.stop();
  });
}

Deno.test("not_the_portal: no answer and a 5xx say nothing about who answered before", async () => {
  const world = await createSettledWorld();
  world.portal.fault({ match: { path: "/sync" }, count: null, action: { status: 401, ...PAGE } });
  await world.pass(40_000);
  world.portal.portal.memory.faults.length = 0;
  world.portal.fault({ match: { path: "/sync" }, count: null, action: { status: 503 } });
  await world.pass(60_000);
  assert.ok(world.stored().conditions.some(isNotThePortal));
  world.portal.portal.memory.faults.length = 0;
  // A refusal of the portal is an answer of the portal too.
  world.portal.fault({ match: { path: "/sync" }, action: { status: 400 } });
  await world.pass(300_000);
  assert.ok(!world.stored().conditions.some(isNotThePortal));
  await world.stop();
});

function isNotThePortal({ code }: { readonly code: string }): boolean {
  return code === "not_the_portal";
}
