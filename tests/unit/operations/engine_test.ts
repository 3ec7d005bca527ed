import assert from "node:assert/strict";
import { createMachine } from "./machine.ts";
import { logOf, runToy, startToy, step, toy } from "./toy.ts";

const DONE = { kind: "done" } as const;

Deno.test("runOperation: steps run in their order, hand on, and give the output", async () => {
  const ran: string[] = [];
  const machine = createMachine();
  const journal = await runToy(
    machine,
    toy({
      first: step(({ handed }) => {
        ran.push(`first ${JSON.stringify(handed)}`);
        return Promise.resolve({ kind: "done", handed: { a: 1 }, evidence: "file a is there" });
      }),
      second: step(({ handed }) => {
        ran.push(`second ${JSON.stringify(handed)}`);
        return Promise.resolve({ kind: "done", handed: { b: 2 } });
      }),
    }),
  );
  assert.deepEqual(ran, ["first {}", 'second {"a":1}']);
  assert.deepEqual(journal.result, { state: "succeeded", output: { a: 1, b: 2 } });
  const at = new Date(machine.clock.now()).toISOString();
  assert.deepEqual(journal.events, [
    { seq: 1, at, step: "first", state: "started" },
    { seq: 2, at, step: "first", state: "succeeded", message: "file a is there" },
    { seq: 3, at, step: "second", state: "started" },
    { seq: 4, at, step: "second", state: "succeeded" },
  ]);
});

Deno.test("runOperation: a step and its event are on disk before it runs", async () => {
  const machine = createMachine();
  const onDisk: unknown[] = [];
  const look = () => {
    machine.disk.crash("lost");
    const { operation } = JSON.parse(machine.disk.text("/var/lib/pbx-agent/state.json") ?? "");
    onDisk.push([operation.step, operation.events.at(-1).seq, operation.steps.length]);
    return Promise.resolve(DONE);
  };
  await runToy(machine, toy({ first: step(look), second: step(look) }));
  assert.deepEqual(onDisk, [["first", 1, 1], ["second", 3, 2]]);
});

Deno.test("runOperation: a failed step names itself, says why and brings its log", async () => {
  const machine = createMachine();
  const journal = await runToy(
    machine,
    toy({
      works: step(),
      breaks: step(async ({ say }) => {
        for (let line = 1; line <= 250; line++) await say(`line ${line}`);
        return { kind: "failed", code: "no_room", message: "the disk is full" };
      }),
      never: step(() => assert.fail("a step after a failed one ran")),
    }),
  );
  const { result } = journal;
  assert.equal(result?.state, "failed");
  assert.equal(result?.step, "breaks");
  assert.equal(result?.code, "no_room");
  assert.equal(result?.message, "the disk is full");
  assert.equal(result?.log_tail?.length, 200);
  assert.match(result?.log_tail?.[0] ?? "", /line 52$/);
  assert.match(result?.log_tail?.at(-1) ?? "", /breaks failed: the disk is full$/);
  assert.deepEqual(journal.steps.map(({ name, state }) => [name, state]), [
    ["works", "succeeded"],
    ["breaks", "failed"],
  ]);
});

Deno.test("runOperation: what was done before a failure is the result's output", async () => {
  const { result } = await runToy(
    createMachine(),
    toy({
      only: step(() =>
        Promise.resolve({ kind: "failed", message: "half of it", output: { evicted: 1 } })
      ),
    }),
  );
  assert.deepEqual([result?.state, result?.output], ["failed", { evicted: 1 }]);
});

Deno.test("runOperation: no secret that was opened or handed on gets into log, event or result", async () => {
  const machine = createMachine();
  const sealed = machine.seal("a-secret-of-the-portal");
  const journal = await runToy(
    machine,
    toy({
      succeeds: step(async ({ open, params, say, secrets }) => {
        const secret = open(params["box"] as { sealed: string });
        secrets.set("made", open(params["other"] as { sealed: string }));
        await say(`printed ${secret.reveal()}`);
        return { kind: "done", evidence: `it is ${secret.reveal()}` };
      }),
      fails: step(() =>
        Promise.resolve({
          kind: "failed",
          message: "neither a-secret-of-the-portal nor made-later",
        })
      ),
    }),
    { box: sealed, other: machine.seal("made-later") },
  );
  const text = JSON.stringify(journal) + logOf(machine) + machine.log.text();
  assert.doesNotMatch(text, /a-secret-of-the-portal|made-later/);
  assert.match(journal.result?.message ?? "", /^neither \[secret\] nor \[secret\]$/);
  assert.equal(journal.events[1]?.message, "it is [secret]");
});

Deno.test("runOperation: what a step throws ends the operation as failed, secrets removed", async () => {
  const journal = await runToy(
    createMachine(),
    toy({
      throws: step(() => Promise.reject(new Error("password=hunter2hunter2 is wrong"))),
    }),
  );
  assert.equal(journal.result?.code, "internal");
  assert.equal(journal.result?.step, "throws");
  assert.equal(journal.result?.message, "a fault of the agent: password=[secret] is wrong");
});

Deno.test("runOperation: a fault outside of any step leaves the steps that succeeded as they are", async () => {
  const definition = toy({ works: step() });
  const broken = {
    ...definition,
    output: () => {
      throw new Error("no output");
    },
  };
  const journal = await runToy(createMachine(), broken);
  assert.equal(journal.result?.state, "failed");
  assert.equal(journal.result?.code, "internal");
  assert.deepEqual(journal.steps.map(({ state }) => state), ["succeeded"]);
});

Deno.test("runOperation: a time limit aborts the step's signal, and the failure says so", async () => {
  const machine = createMachine();
  const journal = await runToy(
    machine,
    toy({
      slow: step(async ({ ports, signal }) => {
        await ports.clock.sleep(3_600_000, signal);
        return { kind: "failed", message: "the API did not answer" };
      }, { timeoutMs: 90_000 }),
    }),
  );
  assert.equal(journal.result?.code, "timeout");
  assert.equal(journal.result?.message, "after 90 s: the API did not answer");
  assert.equal(machine.clock.pending().count, 0, "no timer is left");
});

Deno.test("runOperation: a step that is done although its limit is over counts as done", async () => {
  const journal = await runToy(
    createMachine(),
    toy({
      late: step(async ({ ports }) => {
        await ports.clock.sleep(61_000);
        return DONE;
      }),
    }),
  );
  assert.equal(journal.result?.state, "succeeded");
});

Deno.test("waitFor: says what it waits for at once, then once a minute", async () => {
  const machine = createMachine();
  let looks = 0;
  const journal = await runToy(
    machine,
    toy({
      waits: step(async ({ waitFor }) => {
        const found = await waitFor("the API", () => Promise.resolve(++looks > 100 ? "up" : null));
        return { kind: "done", evidence: `it is ${found}` };
      }, { timeoutMs: 600_000 }),
    }),
  );
  assert.equal(journal.steps[0]?.evidence, "it is up");
  // 100 pauses of 2 s: at 0, 60, 120 and 180 s.
  assert.deepEqual(
    logOf(machine).trimEnd().split("\n").map((line) => line.replace(/^\S+ /, "")),
    Array(4).fill("waiting for the API"),
  );
});

Deno.test("waitFor: gives null when the step's limit is over", async () => {
  const journal = await runToy(
    createMachine(),
    toy({
      waits: step(async ({ waitFor }) => {
        const found = await waitFor("nothing", () => Promise.resolve(null), 7_000);
        return { kind: "failed", message: `got ${found}` };
      }),
    }),
  );
  assert.equal(journal.result?.message, "after 60 s: got null");
});

Deno.test("progress: an event at most every 10 s, the first at once", async () => {
  const machine = createMachine();
  const journal = await runToy(
    machine,
    toy({
      long: step(async ({ progress, ports }) => {
        for (let done = 0; done <= 25; done++) {
          await progress({ done, total: 25, unit: "items" });
          await ports.clock.sleep(1_000);
        }
        return DONE;
      }),
    }),
  );
  const told = journal.events.filter(({ state }) => state === "progress");
  assert.deepEqual(told.map(({ progress }) => progress?.done), [0, 10, 20]);
});

Deno.test("progress: while the portal takes nothing, the events that wait have a bound", async () => {
  const machine = createMachine();
  const journal = await runToy(
    machine,
    toy({
      long: step(async ({ progress, ports }) => {
        for (let done = 0; done < 1_000; done++) {
          await progress({ done, total: null, unit: "bytes" });
          await ports.clock.sleep(10_000);
        }
        return DONE;
      }, { timeoutMs: 100_000_000 }),
    }),
  );
  assert.equal(journal.events.length, 301);
  assert.deepEqual(
    journal.events.map(({ seq }) => seq),
    journal.events.map((_, index) => index + 1),
  );
});

Deno.test("runOperation: a disk that takes no record holds the operation up, and nothing goes on", async () => {
  const machine = createMachine();
  const ran: string[] = [];
  const note = (name: string) =>
    step(() => {
      ran.push(name);
      if (name === "first") machine.disk.setReadOnly(true);
      return Promise.resolve(DONE);
    });
  const run = await startToy(machine, toy({ first: note("first"), second: note("second") }));
  await machine.clock.advance(60_000);
  assert.deepEqual(ran, ["first"]);
  assert.equal(run.journal().result, undefined);
  machine.disk.setReadOnly(false);
  await machine.clock.advance(5_000);
  await run.done;
  assert.deepEqual(ran, ["first", "second"]);
  assert.deepEqual(run.journal().events.map(({ seq }) => seq), [1, 2, 3, 4]);
});
