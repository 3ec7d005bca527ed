import assert from "node:assert/strict";
import { acknowledged, eventsRequest } from "../../../core/operations/outbox.ts";
import type { EventsRequest } from "../../../core/protocol/operation.ts";
import type { Journal } from "../../../core/state/journal.ts";

const AT = "2026-01-01T00:00:00Z";

/** A journal that owes the events `seqs`, and a result where `done`. */
function journal(seqs: readonly number[], done: boolean): Journal {
  return {
    id: "op-1",
    kind: "s3.verify",
    params: {},
    begun_at: AT,
    step: "list_bucket",
    steps: [],
    handed: {},
    events: seqs.map((seq) => ({ seq, at: AT, step: "list_bucket", state: "started" as const })),
    seq: seqs.at(-1) ?? 0,
    ...(done ? { result: { state: "succeeded" as const } } : {}),
  };
}

/** What is sent for a journal that owes something. */
function sentFor(owing: Journal): EventsRequest {
  const sent = eventsRequest(owing);
  assert.ok(sent);
  return sent;
}

const seqs = (owing: Journal | null) => owing?.events.map(({ seq }) => seq);

Deno.test("acknowledged: what the portal has not taken is owed still", () => {
  const owing = journal([1, 2, 3], false);
  assert.deepEqual(seqs(acknowledged(owing, sentFor(owing), 1)), [2, 3]);
  assert.deepEqual(seqs(acknowledged(owing, sentFor(owing), 0)), [1, 2, 3]);
  assert.deepEqual(seqs(acknowledged(owing, sentFor(owing), 3)), []);
});

Deno.test("acknowledged: a result is sent again with the events that were not taken beside it", () => {
  const owing = journal([1, 2], true);
  const left = acknowledged(owing, sentFor(owing), 1);
  assert.deepEqual(seqs(left), [2]);
  assert.deepEqual(left && eventsRequest(left)?.result, { state: "succeeded" });
  assert.equal(acknowledged(owing, sentFor(owing), 2), null);
  const alone = journal([], true);
  assert.equal(acknowledged(alone, sentFor(alone), 0), null);
});

Deno.test("acknowledged: an event that came while the request was under way is not taken with it", () => {
  const before = journal([1], false);
  const sent = sentFor(before);
  assert.deepEqual(seqs(acknowledged(journal([1, 2], false), sent, 7)), [2]);
});
