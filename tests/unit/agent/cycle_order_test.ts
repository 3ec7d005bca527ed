import assert from "node:assert/strict";
import { updating } from "./updating.ts";
import { createSettledWorld, type World } from "./world.ts";

/** What one answer asks for of the host, the cluster and an operation. */
function askForAll({ portal }: World): void {
  const secrets = { hcloud: { token: { plain: "another-token" } } };
  portal.desire({ host: { snapshots: { retention: 7 } }, secrets });
  portal.offer({ id: "op-1", kind: "access.revoke", params: { everyone: true } });
}

/** Which of the events came after so many log records, in their order, each once. */
function order({ log }: World, from: number, events: readonly string[]): string[] {
  const seen = log.records().slice(from).map(({ event }) => event)
    .filter((event) => events.includes(event));
  return [...new Set(seen)];
}

Deno.test("cycle: what one answer asks for is done in the order host, cluster, operation", async () => {
  const world = await createSettledWorld();
  const from = world.log.records().length;
  askForAll(world);
  await world.pass(60_000);
  const steps = ["drop_in_written", "secret_applied", "operation_taken"];
  assert.deepEqual(order(world, from, steps), steps);
  await world.stop();
});

Deno.test("cycle: an update of the agent begins before all the rest", async () => {
  const world = await updating();
  const from = world.log.records().length;
  askForAll(world);
  await world.pass(60_000);
  const steps = ["update", "drop_in_written", "secret_applied", "operation_taken"];
  assert.deepEqual(order(world, from, steps), steps);
  await world.stop();
});
