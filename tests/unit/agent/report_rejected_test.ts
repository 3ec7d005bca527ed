import assert from "node:assert/strict";
import { createSettledWorld } from "./world.ts";

const REFUSED = { status: 400, body: { error: { code: "invalid_request", message: "m" } } };

Deno.test("report_rejected: offered again it is not sent a fourth time, and does not hold up the next", async () => {
  const world = await createSettledWorld();
  const path = "/operations/first/events";
  world.portal.fault({ match: { path }, count: null, action: REFUSED });
  world.portal.offer({ id: "first", kind: "no.such", params: {} });
  await world.pass(30 * 60_000);
  assert.equal(world.requests(path), 3);
  assert.deepEqual(world.conditions(), ["report_rejected"]);
  assert.equal(world.stored().operation, null);

  world.portal.portal.state.operations.length = 0;
  const next = world.portal.offer({ id: "second", kind: "no.such", params: {} });
  await world.pass(6 * 60_000);
  assert.equal(next.result?.state, "unsupported");
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});

Deno.test("report_rejected: after a restart the result goes again where its operation is offered", async () => {
  const world = await createSettledWorld();
  const path = "/operations/first/events";
  world.portal.fault({ match: { path }, count: null, action: REFUSED });
  const operation = world.portal.offer({ id: "first", kind: "no.such", params: {} });
  await world.pass(10 * 60_000);
  assert.equal(world.requests(path), 3);
  await world.stop();

  world.portal.portal.memory.faults.length = 0;
  world.start();
  await world.pass(10 * 60_000);
  assert.equal(operation.result?.state, "unsupported");
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});

Deno.test("report_rejected: a result that was refused with its events goes once more, whole, where its operation is offered again", async () => {
  const world = await createSettledWorld();
  const path = "/operations/first/events";
  world.portal.fault({ match: { path }, count: null, action: REFUSED });
  const access_key = { plain: "ACCESSKEY" };
  const secret_key = { plain: "secret-key" };
  const bucket = { endpoint: "s3.test", bucket: "snapshots", region: "lab-1", folder: "demo" };
  const params = { ...bucket, access_key, secret_key };
  const operation = world.portal.offer({ id: "first", kind: "s3.verify", params });
  while (!world.conditions().includes("report_rejected")) await world.pass(5_000);
  world.portal.portal.memory.faults.length = 0;
  await world.pass(400_000);
  assert.equal(operation.result?.state, "succeeded", "without a restart");
  assert.ok(operation.result?.output !== undefined, "with its output");
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});
