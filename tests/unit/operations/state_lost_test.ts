import assert from "node:assert/strict";
import { OPERATIONS_DIRECTORY, STATE_FILE } from "../../../core/state/paths.ts";
import { createMachine, type Machine, openAgent } from "./machine.ts";
import type { AnyDefinition } from "../../../core/operations/definition.ts";
import { pruneOperationLogs } from "../../../core/operations/operation_log.ts";
import { takeOffer } from "../../../core/agent/take_offer.ts";
import type { Witnesses } from "../../../core/state/witnesses.ts";
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

Deno.test("state lost: the note outlives what is known of its operation, by 30 days of every clock", async () => {
  const machine = createMachine();
  const fresh = stateOf(machine);
  const { live, definition } = hanging(machine, "look");
  await live();
  let livedMs = 0;
  /** Another operation clears away what is not known any more. */
  const prune = async (days: number, witness: Partial<Witnesses> = {}) => {
    await machine.clock.advance(days * DAY_MS);
    livedMs += days * DAY_MS;
    loseState(machine, fresh);
    const witnesses = { now: machine.clock.now(), isCertain: true, livedMs, ...witness };
    await pruneOperationLogs(machine.disk, () => false, witnesses);
    const isThere = machine.disk.text(MARK) !== null;
    const journal = await offered(machine, definition);
    assert.equal(journal?.result?.code, isThere ? "unclear" : undefined);
    return isThere;
  };
  // Its 30 days begin with the first look, and a wall clock that is far ahead, then or later, ends none.
  machine.clock.setWallClock(machine.clock.now() + 31 * DAY_MS);
  assert.equal(await prune(0, { isCertain: false }), true);
  assert.equal(await prune(0), true);
  assert.equal(await prune(29), true);
  assert.equal(await prune(2, { livedMs: 29 * DAY_MS }), true, "the agent has not lived so long");
  assert.equal(
    await prune(0, { now: machine.clock.now() - 5 * DAY_MS }),
    true,
    "nor has the portal",
  );
  assert.equal(await prune(0, { isCertain: false }), true, "which may be wrong");
  assert.equal(await prune(31), false);
});

Deno.test("state lost: a note of a longer life begins its 30 days in this one", async () => {
  const machine = createMachine();
  machine.disk.put(
    MARK,
    JSON.stringify({ step: "reset_restore", at: "2099-01-01T00:00:00Z", lived_ms: 400 * DAY_MS }),
  );
  const prune = async (livedMs: number) => {
    const witnesses = { now: machine.clock.now(), isCertain: true, livedMs };
    await pruneOperationLogs(machine.disk, () => false, witnesses);
    return machine.disk.text(MARK) !== null;
  };
  assert.equal(await prune(0), true);
  await machine.clock.advance(30 * DAY_MS);
  assert.equal(await prune(30 * DAY_MS - 1), true);
  assert.equal(await prune(30 * DAY_MS), false);
});

Deno.test("state lost: the note of an earlier version, a name alone, counts as well", async () => {
  const machine = createMachine();
  machine.disk.put(MARK, "wipe_db");
  const { definition } = hanging(machine);
  assert.equal((await offered(machine, definition))?.result?.step, "wipe_db");
});
