import assert from "node:assert/strict";
import { readOperationLog, readOperations } from "../../../core/agent/operations_view.ts";
import { createMachine } from "../operations/machine.ts";
import { runToy, startToy, step, toy } from "../operations/toy.ts";

const STATE = "/var/lib/pbx-agent/state.json";

Deno.test("readOperations: none before the first start, and the reason where the state cannot be read", async () => {
  const machine = createMachine();
  assert.deepEqual(await readOperations(machine.disk), { ok: true, value: [] });
  machine.disk.put(STATE, "{");
  const broken = await readOperations(machine.disk);
  assert.ok(!broken.ok);
  assert.match(broken.error, /state\.json is no JSON/);
  await machine.disk.remove(STATE);
  assert.deepEqual(await readOperations(machine.disk), { ok: true, value: [] });
});

Deno.test("readOperations: one that runs, with what it has done so far, and nothing is written", async () => {
  const machine = createMachine();
  const definition = toy({
    first: step(async ({ say }) => {
      await say("a line of it");
      return { kind: "done", evidence: "it is there" };
    }),
    long: step(() => new Promise(() => {})),
  });
  await startToy(machine, definition);
  await machine.clock.settle();
  machine.disk.forgetWrites();
  const known = await readOperations(machine.disk);
  assert.ok(known.ok);
  const [one, ...others] = known.value;
  assert.deepEqual(others, []);
  assert.deepEqual([one?.id, one?.kind, one?.state], ["op-1", "toy", "running"]);
  assert.deepEqual([one?.ended_at, one?.result, one?.reported], [null, null, false]);
  assert.deepEqual(one?.steps.map(({ name, state }) => [name, state]), [
    ["first", "succeeded"],
    ["long", "running"],
  ]);
  assert.equal(one?.steps[0]?.evidence, "it is there");
  assert.deepEqual(
    (await readOperationLog(machine.disk, "op-1")).map((line) => line.slice(25)),
    ["a line of it"],
  );
  assert.deepEqual(machine.disk.writes(), []);
});

Deno.test("readOperations: the newest first, each reported once the portal has its result", async () => {
  const machine = createMachine();
  await runToy(machine, toy({ only: step() }));
  const state = JSON.parse(machine.disk.text(STATE) ?? "");
  const older = {
    ...state.finished["op-1"],
    begun_at: "2025-12-31T00:00:00.000Z",
    at: "2025-12-31T00:01:00.000Z",
  };
  machine.disk.put(STATE, JSON.stringify({ ...state, finished: { older, ...state.finished } }));
  const known = await readOperations(machine.disk);
  assert.deepEqual(
    known.ok && known.value.map(({ id, state, reported }) => [id, state, reported]),
    [["op-1", "succeeded", false], ["older", "succeeded", true]],
  );
});

Deno.test("readOperationLog: what is no ID and what has no log give none", async () => {
  const { disk } = createMachine();
  disk.put("/var/lib/pbx-agent/secret.log", "a secret\n");
  assert.deepEqual(await readOperationLog(disk, "../secret"), []);
  assert.deepEqual(await readOperationLog(disk, "unknown"), []);
});
