import assert from "node:assert/strict";
import { Journal } from "../../../core/state/journal.ts";
import {
  begun,
  stepProgressed,
  stepStarted,
  stepSucceeded,
} from "../../../core/operations/journal.ts";
import { createMachine, type Machine } from "./machine.ts";
import { runToy, startToy, step, toy } from "./toy.ts";

const DONE = { kind: "done" } as const;
const AT = "2026-01-01T00:00:00.000Z";
const STATE = "/var/lib/pbx-agent/state.json";

/** The process is killed at its first call: it never hears of anything again. */
function never(): Promise<never> {
  return new Promise(() => {});
}

/** Starts the agent anew until its step runs, as often as it is killed; true where the operation ended. */
async function untilRunning(machine: Machine, definition: Parameters<typeof startToy>[1]) {
  const run = await startToy(machine, definition);
  await machine.clock.advance(120_000);
  return run.journal();
}

Deno.test("step_loop: a step that ends the agent every time is begun 20 times and no more", async () => {
  const machine = createMachine();
  let ran = 0;
  const definition = toy({
    first: step(),
    crashes: step(() => {
      ran++;
      return never();
    }, { timeoutMs: 1e9 }),
  });
  let longest = 0;
  for (let start = 1; start <= 20; start++) {
    assert.equal((await untilRunning(machine, definition)).result, undefined, `start ${start}`);
    assert.equal(ran, start);
    longest = Math.max(longest, machine.disk.text(STATE)?.length ?? 0);
  }
  const journal = await untilRunning(machine, definition);
  assert.equal(ran, 20);
  const { state, code, step: name, message = "" } = journal.result ?? {};
  assert.deepEqual([state, code, name], ["failed", "step_loop", "crashes"]);
  assert.match(message, /crashes was begun 20 times/);
  assert.equal(journal.steps.length, 10);
  assert.ok(journal.steps.some((run) => run.name === "first" && run.state === "succeeded"));
  assert.deepEqual(
    journal.events.map(({ seq }) => seq),
    journal.events.map((_, index) => index + 1),
  );
  assert.equal(journal.events.at(-1)?.state, "failed");
});

Deno.test("step_loop: runs that end are not counted, whatever their number", async () => {
  const machine = createMachine();
  let ran = 0;
  const definition = toy({
    // It is made again after each crash, and ends each time.
    make: step(() => Promise.resolve(DONE), { handsSecret: true }),
    use: step(() => ++ran < 15 ? never() : Promise.resolve(DONE), { timeoutMs: 1e9 }),
    last: step(() => ++ran < 25 ? never() : Promise.resolve(DONE), { timeoutMs: 1e9 }),
  });
  for (let start = 1; start < 30 && ran < 25; start++) await untilRunning(machine, definition);
  assert.equal((await untilRunning(machine, definition)).result?.state, "succeeded");
});

Deno.test("step_loop: a destructive step that is done is not run again, however many runs follow", async () => {
  const machine = createMachine();
  const ran = { reset: 0, use: 0 };
  const definition = toy({
    make: step(() => Promise.resolve(DONE), { handsSecret: true }),
    reset_restore: {
      ...step(() => {
        ran.reset++;
        return Promise.resolve(DONE);
      }),
      probe: () => assert.fail("it is known to be done"),
    },
    use: step(() => {
      ran.use++;
      return never();
    }, { timeoutMs: 1e9 }),
  });
  let journal = await untilRunning(machine, definition);
  for (let start = 1; journal.result === undefined; start++) {
    assert.ok(start <= 20, "it begins for ever");
    journal = await untilRunning(machine, definition);
  }
  assert.deepEqual(ran, { reset: 1, use: 20 });
  assert.deepEqual([journal.result.code, journal.result.step], ["step_loop", "use"]);
});

Deno.test("step_loop: a destructive step is begun again only where its probe says that it had not begun", async () => {
  const machine = createMachine();
  const ran = { reboot: 0, probe: 0 };
  const definition = toy({
    reboot: {
      ...step(() => {
        ran.reboot++;
        return never();
      }, { timeoutMs: 1e9 }),
      probe: () => {
        ran.probe++;
        return Promise.resolve({ kind: "not_begun" });
      },
    },
  });
  for (let start = 1; start <= 20; start++) await untilRunning(machine, definition);
  const journal = await untilRunning(machine, definition);
  assert.deepEqual(ran, { reboot: 20, probe: 19 });
  assert.equal(journal.result?.code, "step_loop");
});

Deno.test("step_loop: the journal of an earlier version is counted by its runs, and becomes short", async () => {
  const machine = createMachine();
  const run = await startToy(machine, toy({ only: step(never, { timeoutMs: 1e9 }) }));
  await machine.clock.settle();
  const state = JSON.parse(machine.disk.text(STATE) ?? "");
  const { runs: _runs, ...old } = run.journal();
  state.operation = { ...old, steps: Array(5_000).fill(old.steps[0]) };
  machine.disk.put(STATE, JSON.stringify(state));
  const journal = await runToy(
    machine,
    toy({ only: step(() => assert.fail("begun once more")) }),
  );
  assert.equal(journal.result?.code, "step_loop");
  assert.ok((machine.disk.text(STATE)?.length ?? 0) < 20_000);
});

Deno.test("runs: they wait longer and longer, and not after one that came further", async () => {
  const machine = createMachine();
  const startedAfter: number[] = [];
  let done = 0;
  const began = { at: 0 };
  const definition = toy({
    only: step(async ({ progress }) => {
      startedAfter.push(machine.clock.now() - began.at);
      if (startedAfter.length === 8) done = 100;
      if (startedAfter.length > 8) done = 100;
      await progress({ done, total: 200, unit: "bytes" });
      return await never();
    }, { timeoutMs: 1e9 }),
  });
  for (let start = 1; start <= 12; start++) {
    began.at = machine.clock.now();
    await untilRunning(machine, definition);
  }
  assert.deepEqual(
    startedAfter.map((ms) => ms / 1_000),
    [0, 0, 0, 5, 10, 20, 40, 60, 0, 0, 0, 5],
  );
});

Deno.test("journal: events of repeated runs stop where too many wait, and numbers still rise by one", () => {
  let journal = begun({ id: "op-1", kind: "toy", params: {} }, AT);
  for (let run = 0; run < 1_000; run++) {
    journal = stepStarted(journal, run % 2 === 0 ? "make" : "use", AT);
    if (run % 2 === 0) journal = stepSucceeded(journal, { evidence: "e".repeat(2_000) }, AT);
  }
  assert.ok(journal.events.length <= 301, `${journal.events.length} events wait`);
  journal = stepStarted(journal, "last", AT);
  journal = stepSucceeded(journal, {}, AT);
  assert.deepEqual(journal.events.slice(-2).map(({ step, state }) => [step, state]), [
    ["last", "started"],
    ["last", "succeeded"],
  ]);
  assert.deepEqual(
    journal.events.map(({ seq }) => seq),
    journal.events.map((_, index) => index + 1),
  );
  assert.ok(journal.steps.length <= 10);
  assert.deepEqual(Journal.parse(journal), journal);
});

Deno.test("journal: progress that repeats the run before it is none", () => {
  let journal = begun({ id: "op-1", kind: "toy", params: {} }, AT);
  const futile = () => journal.runs?.["only"]?.futile;
  const told = (done: number) => stepProgressed(journal, { done, total: null, unit: "bytes" }, AT);
  journal = stepStarted(journal, "only", AT);
  journal = told(50);
  assert.equal(futile(), 0);
  journal = stepStarted(journal, "only", AT);
  journal = told(50);
  assert.equal(futile(), 1);
  journal = told(51);
  assert.equal(futile(), 0);
});
