import assert from "node:assert/strict";
import { OPERATIONS_DIRECTORY, STATE_FILE } from "../../../core/state/paths.ts";
import { createMachine, type Machine, openAgent } from "./machine.ts";
import type { AnyDefinition } from "../../../core/operations/definition.ts";
import { pruneOperationLogs } from "../../../core/operations/operation_log.ts";
import { takeOffer } from "../../../core/agent/take_offer.ts";
import { startToy, step, toy } from "./toy.ts";

const MARK = `${OPERATIONS_DIRECTORY}/op-1.begun`;
const DAY_MS = 24 * 3_600_000;

/** An operation of which every step never ends, but for those named. */
function hanging(machine: Machine, ...done: string[]) {
  const runs: string[] = [];
  const run = (name: string) => () => {
    runs.push(name);
    return done.includes(name)
      ? Promise.resolve({ kind: "done" } as const)
      : new Promise<never>(() => {});
  };
  const definition = toy({
    look: step(run("look")),
    reset_restore: {
      ...step(run("reset_restore")),
      probe: () => Promise.resolve({ kind: "not_begun" }),
    },
  });
  /** A process that is killed after a while. */
  const live = async () => {
    const life = await startToy(machine, definition);
    await machine.clock.advance(10_000);
    life.stop();
    return life.journal();
  };
  return { runs, definition, live };
}

/** What becomes of the operation when it is offered to a new process. */
async function offered({ ports }: Machine, definition: AnyDefinition) {
  const context = await openAgent(ports);
  const operation = { id: "op-1", kind: "toy", params: {} };
  await takeOffer(context, operation, true, () => definition);
  return context.store.state.operation;
}

/** What a start makes of an unreadable state.json, as far as operations go. */
function loseState({ disk }: Machine, fresh: string): void {
  disk.put(STATE_FILE, fresh);
}

const stateOf = ({ disk }: Machine) => disk.text(STATE_FILE) ?? "";

Deno.test("state lost: an operation whose destructive step may have begun is never begun anew", async () => {
  const machine = createMachine();
  const fresh = stateOf(machine);
  const { runs, definition, live } = hanging(machine, "look");
  await live();
  assert.deepEqual(runs, ["look", "reset_restore"]);
  machine.disk.crash("lost");
  loseState(machine, fresh);
  const journal = await offered(machine, definition);
  const { result } = journal ?? {};
  assert.deepEqual([result?.state, result?.step, result?.code], [
    "failed",
    "reset_restore",
    "unclear",
  ]);
  assert.match(result?.message ?? "", /had begun when the agent's state was lost/);
  assert.deepEqual(journal?.events, []);
});

Deno.test("state lost: what nobody can read was begun all the same", async () => {
  const machine = createMachine();
  machine.disk.put(MARK, "?");
  const { definition } = hanging(machine);
  assert.equal((await offered(machine, definition))?.result?.step, "unknown");
});

Deno.test("state lost: an operation that was cut short before its destructive step begins anew", async () => {
  const machine = createMachine();
  const fresh = stateOf(machine);
  const { runs, live } = hanging(machine);
  await live();
  loseState(machine, fresh);
  await live();
  assert.deepEqual(runs, ["look", "look"]);
});

Deno.test("state lost: where it is not, the operation goes on by what the node shows", async () => {
  const machine = createMachine();
  const { runs, live } = hanging(machine, "look");
  await live();
  await live();
  assert.deepEqual(runs, ["look", "reset_restore", "reset_restore"]);
});

Deno.test("state lost: a destructive step waits until it is noted that it may have begun", async () => {
  const machine = createMachine();
  const { runs, live } = hanging(machine, "look");
  machine.disk.onCall((operation, path) =>
    operation === "write" && path.startsWith(MARK) ? "full" : null
  );
  await live();
  assert.deepEqual(runs, ["look"]);
  machine.disk.onCall(() => null);
  await live();
  assert.deepEqual(runs, ["look", "reset_restore"]);
});

Deno.test("state lost: the note outlives what is known of its operation, by 30 days", async () => {
  const machine = createMachine();
  const fresh = stateOf(machine);
  const { live, definition } = hanging(machine, "look");
  await live();
  for (const days of [29, 2]) {
    await machine.clock.advance(days * DAY_MS);
    loseState(machine, fresh);
    // Another operation clears away what is not known any more.
    await pruneOperationLogs(machine.disk, () => false, machine.clock.now());
    assert.equal(machine.disk.text(MARK) === null, days !== 29);
    const journal = await offered(machine, definition);
    assert.equal(journal?.result?.code, days === 29 ? "unclear" : undefined);
  }
});
