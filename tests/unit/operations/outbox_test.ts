import assert from "node:assert/strict";
import fc from "fast-check";
import {
  acknowledged,
  eventsRequest,
  isOwed,
  MAX_REMEMBERED,
  refusedForGood,
  withJournal,
} from "../../../core/operations/outbox.ts";
import type { OperationEvent, OperationResult } from "../../../core/protocol/operation.ts";
import type { Journal } from "../../../core/state/journal.ts";
import { jsonText } from "../../../core/state/json_document.ts";
import type { Witnesses } from "../../../core/state/witnesses.ts";
import { EMPTY_STATE, type State } from "../../../core/state/state.ts";

const AT = "2026-01-01T12:00:00.000Z";
const NOW = Date.parse(AT);
/** What witnesses say that agree. */
const at = (now: number): Witnesses => ({ now, isCertain: true, livedMs: now - NOW + 1 });
const DAY = 24 * 3_600_000;
/** Largest body of a request (protocol §1). */
const BODY = 262_144;

function events(count: number, message?: string, from = 1): OperationEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    seq: from + index,
    at: AT,
    step: "save",
    state: "progress",
    ...(message === undefined ? {} : { message }),
  }));
}

function journal(change: Partial<Journal> = {}): Journal {
  return {
    id: "op-1",
    kind: "toy",
    params: {},
    begun_at: AT,
    step: "save",
    steps: [],
    handed: {},
    events: [],
    seq: 0,
    ...change,
  };
}

function bytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

Deno.test("eventsRequest: what there is to say, and nothing where nothing is owed", () => {
  const result: OperationResult = { state: "succeeded", output: { a: 1 } };
  assert.equal(eventsRequest(journal()), null);
  assert.deepEqual(eventsRequest(journal({ events: events(2) })), { events: events(2) });
  assert.deepEqual(eventsRequest(journal({ events: events(2), result })), {
    events: events(2),
    result,
  });
  assert.deepEqual(eventsRequest(journal({ result })), { events: [], result });
  assert.ok(!isOwed(journal()));
  assert.ok(isOwed(journal({ result })) && isOwed(journal({ events: events(1) })));
});

Deno.test("eventsRequest: the result goes with the last events only", () => {
  const result: OperationResult = { state: "succeeded" };
  let left: Journal | null = journal({ events: events(300, "x".repeat(1_000)), result });
  const seqs: number[] = [];
  let requests = 0;
  while (left !== null) {
    const sent = eventsRequest(left);
    assert.ok(sent !== null && ++requests < 100);
    assert.equal(sent.result !== undefined, sent.events.at(-1)?.seq === 300);
    seqs.push(...sent.events.map(({ seq }) => seq));
    left = acknowledged(left, sent, seqs.at(-1) ?? 0);
  }
  assert.deepEqual(seqs, events(300).map(({ seq }) => seq));
});

Deno.test("eventsRequest: any body fits, whatever the messages and the log are made of", () => {
  const text = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc.constantFrom("\u0000".repeat(1_000), "ü".repeat(1_000), "\u{1f600}".repeat(500)),
  );
  fc.assert(
    fc.property(
      fc.array(text, { maxLength: 300 }),
      fc.array(fc.constantFrom("l", "\u0001".repeat(2_000), "é".repeat(2_000)), {
        minLength: 1,
        maxLength: 200,
      }),
      (messages, log) => {
        const told = messages.map((message, index) => ({
          ...events(1, message, index + 1)[0] as OperationEvent,
        }));
        const result: OperationResult = { state: "failed", message: "why", log_tail: log };
        const sent = eventsRequest(journal({ events: told, result }));
        assert.ok(sent !== null);
        assert.ok(bytes(sent) <= BODY, `${bytes(sent)} bytes`);
        const tail = sent.result?.log_tail;
        if (tail === undefined) return;
        // What is left are the newest lines as they were, and how many are not there.
        const [, cut] = /^\((\d+) older lines do not fit\)$/.exec(tail[0] ?? "") ?? [];
        const left = cut === undefined ? tail : tail.slice(1);
        assert.deepEqual(left, log.slice(Number(cut ?? 0)));
        assert.ok(tail.length <= 200);
      },
    ),
    { seed: 4, numRuns: 60 },
  );
});

Deno.test("acknowledged: what was taken goes, what came meanwhile stays", () => {
  const sent = { events: events(3) };
  const now = journal({ events: events(5), seq: 5 });
  assert.deepEqual(acknowledged(now, sent, 2)?.events.map(({ seq }) => seq), [3, 4, 5]);
  assert.deepEqual(acknowledged(now, sent, 3)?.events.map(({ seq }) => seq), [4, 5]);
  // Numbers that it was never sent, it cannot have taken.
  assert.deepEqual(acknowledged(now, sent, 5)?.events.map(({ seq }) => seq), [4, 5]);
  assert.deepEqual(acknowledged(now, sent, 0), now);
});

Deno.test("acknowledged: nothing is left once the result and the events with it are taken", () => {
  const result: OperationResult = { state: "succeeded" };
  const now = journal({ events: events(2), seq: 2, result });
  assert.equal(acknowledged(now, { events: events(2), result }, 2), null);
  assert.deepEqual(
    acknowledged(now, { events: events(2), result }, 1)?.events,
    events(1, undefined, 2),
  );
  assert.equal(acknowledged(journal({ result }), { events: [], result }, 0), null);
});

Deno.test("refusedForGood: events are discarded, never the result; that goes alone, then is given up", () => {
  const result: OperationResult = {
    state: "failed",
    code: "no_room",
    message: "why",
    log_tail: ["line"],
    output: { a: 1 },
  };
  const now = journal({ events: events(3), seq: 3, result });
  const sent = eventsRequest(now);
  assert.ok(sent !== null);
  const alone = refusedForGood(now, sent);
  assert.ok(alone !== null);
  assert.deepEqual(eventsRequest(alone), {
    events: [],
    result: { state: "failed", code: "no_room", message: "why" },
  });
  assert.deepEqual(alone.result, result);
  assert.equal(refusedForGood(alone, { events: [], result }), null);
});

Deno.test("refusedForGood: an operation that still runs goes on with the numbers behind", () => {
  const now = journal({ events: events(5), seq: 5 });
  const after = refusedForGood(now, { events: events(3) });
  assert.deepEqual(after?.events.map(({ seq }) => seq), [4, 5]);
  assert.equal(after?.result_alone, undefined);
});

Deno.test("withJournal: a result is kept once, under its ID, for 30 days", () => {
  const done = (id: string, code: string) =>
    journal({ id, result: { state: "failed", code }, steps: [] });
  const first = withJournal(EMPTY_STATE, done("a", "one"), at(NOW));
  assert.equal(first.finished["a"]?.result.code, "one");
  // The journal changes after its result (events go): what is kept does not.
  const changed = withJournal(first, { ...done("a", "one"), result_alone: true }, at(NOW + 1));
  assert.deepEqual(changed.finished, first.finished);
  // Offered again and answered from what is kept.
  const again = withJournal({ ...first, operation: null }, done("a", "one"), at(NOW + DAY));
  assert.deepEqual(again.finished, first.finished);

  const late = withJournal({ ...first, operation: null }, done("b", "two"), at(NOW + 30 * DAY - 1));
  assert.deepEqual(Object.keys(late.finished), ["a", "b"]);
  const later = withJournal({ ...first, operation: null }, done("b", "two"), at(NOW + 30 * DAY));
  assert.deepEqual(Object.keys(later.finished), ["b"]);
  // Run again after 30 days, its new result is the one that is kept.
  const anew = withJournal({ ...first, operation: null }, done("a", "new"), at(NOW + 31 * DAY));
  assert.equal(anew.finished["a"]?.result.code, "new");
});

Deno.test("withJournal: however many and large the results, the state has a bound, and every ID is known", () => {
  let state: State = EMPTY_STATE;
  const output = { bundle: "x".repeat(120_000) };
  for (let n = 0; n < 60; n++) {
    const result: OperationResult = { state: "succeeded", output, log_tail: ["l".repeat(2_000)] };
    state = withJournal(
      { ...state, operation: null },
      journal({ id: `op-${n}`, result }),
      at(NOW + n),
    );
  }
  assert.equal(Object.keys(state.finished).length, 60);
  assert.ok(bytes(state.finished) < 1_200_000, `${bytes(state.finished)} bytes`);
  assert.equal(state.finished["op-59"]?.result.output?.["bundle"], output.bundle);
  assert.deepEqual(state.finished["op-0"]?.result, { state: "succeeded" });

  // As many as can be remembered, each with as much to say as it can: all of them fit the file.
  const result: OperationResult = {
    state: "failed",
    step: "wait_api",
    code: "timeout",
    message: "m".repeat(8_000),
  };
  const entry = { kind: "k".repeat(64), begun_at: AT, at: AT, lived_ms: 1, steps: [], result };
  const many = Object.fromEntries(
    Array.from({ length: MAX_REMEMBERED }, (_, n) => [`many-${"x".repeat(50)}-${n}`, entry]),
  );
  state = withJournal(
    { ...state, operation: null, finished: { ...state.finished, ...many } },
    journal({ id: "last", result }),
    at(NOW + 100),
  );
  assert.equal(Object.keys(state.finished).length, MAX_REMEMBERED + 61);
  assert.ok(jsonText(state).length < 8_000_000, `${jsonText(state).length} bytes`);
  assert.equal(state.finished["last"]?.result.message, result.message);
});
