import assert from "node:assert/strict";
import {
  type RestoreEnd,
  type RestoreOptions,
  runRestore,
} from "../../../../simulate/servers/restore_run.ts";

/** A run by seed, without trouble unless told. */
async function run(seed: number, change: Partial<RestoreOptions> = {}): Promise<RestoreEnd> {
  return await runRestore({ servers: 3, seed, trouble: false, ...change });
}

/** When something was first told. */
function first({ story }: RestoreEnd, who: string, words: RegExp): number {
  const index = story.findIndex((line) => line.who === who && words.test(line.what));
  assert.ok(index >= 0, `${who} never said ${words}`);
  return index;
}

for (const [seed, lost] of [[2, ["demo-2"]], [1, ["demo-2", "demo-3"]]] as const) {
  Deno.test(`runRestore: ${lost.length} of 3 servers lost, and all are back with the old data`, async () => {
    const end = await run(seed);
    assert.deepEqual(end.lost, lost);
    assert.deepEqual(end.checks.filter(({ holds }) => !holds), []);
    assert.equal(end.ok, true);
    assert.deepEqual(
      end.operations.map(({ kind, server, result }) => `${kind} on ${server}: ${result}`),
      [
        "snapshot.save on demo-1: succeeded",
        "cluster.restore on demo-1: succeeded",
        "server.rejoin on demo-2: succeeded",
        "server.rejoin on demo-3: succeeded",
      ],
    );
    assert.deepEqual(end.servers.map(({ orders, invoices }) => [orders, invoices]), [
      ["first", null],
      ["first", null],
      ["first", null],
    ]);
  });
}

Deno.test("runRestore: the others are off before the restore, and come one after the other", async () => {
  const end = await run(5);
  assert.deepEqual(end.lost, ["demo-3"]);
  const stop = first(end, "portal", /^stop .*demo-2/);
  const off = first(end, "demo-2", /^is switched off/);
  const restored = first(end, "demo-1", /^cluster\.restore .* has succeeded/);
  const on = first(end, "demo-2", /^is switched on/);
  const rejoined = first(end, "demo-2", /^server\.rejoin .* has succeeded/);
  const last = first(end, "demo-3", /^is switched on/);
  const done = first(end, "portal", /^done/);
  const order = [stop, off, restored, on, rejoined, last, done];
  assert.deepEqual(order, order.toSorted((a, b) => a - b));
});

Deno.test("runRestore: with agents killed in the middle, what failed is asked for until it succeeds", async () => {
  const ends = [await run(2, { trouble: true }), await run(1, { trouble: true })];
  for (const { ok, checks, operations } of ends) {
    assert.deepEqual(checks.filter(({ holds }) => !holds), []);
    assert.equal(ok, true);
    const attempts = Map.groupBy(operations, ({ kind, server }) => `${kind} on ${server}`);
    for (const [what, tries] of attempts) {
      const succeeded = tries.filter(({ result }) => result === "succeeded");
      assert.deepEqual(succeeded, tries.slice(-1), what);
    }
  }
  const whole = ends.flatMap(({ story }) => story).map(({ what }) => what);
  assert.ok(whole.includes("the agent is killed"));
  assert.ok(whole.includes("the agent is started again"));
});

Deno.test("runRestore: the same seed is the same story, another is another", async () => {
  const one = JSON.stringify(await run(4, { trouble: true }));
  assert.equal(one, JSON.stringify(await run(4, { trouble: true })));
  assert.notEqual(one, JSON.stringify(await run(5, { trouble: true })));
});
