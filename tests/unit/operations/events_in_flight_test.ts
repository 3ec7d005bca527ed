import assert from "node:assert/strict";
import { createFakeHttp, type FakeReply } from "../../../adapters/fake/http.ts";
import { type InFlight, sendEvents } from "../../../core/agent/send_events.ts";
import type { EventsRequest } from "../../../core/protocol/operation.ts";
import { createMachine } from "./machine.ts";
import { startToy, step, toy } from "./toy.ts";

const HEADERS = { "content-type": "application/json" };
const REFUSED: FakeReply = {
  status: 400,
  headers: HEADERS,
  body: '{"error":{"code":"invalid_request"}}',
};
const BROKEN: FakeReply = { status: 503, body: "" };

/** An operation that tells of progress every 10 s, and a portal that answers as it is told. */
async function setUp(seconds: number) {
  const bodies: EventsRequest[] = [];
  const portal = { answers: (_nth: number): FakeReply | null => null };
  const machine = createMachine(({ clock }) => ({
    http: createFakeHttp({
      clock,
      peer({ body }) {
        const sent: EventsRequest = JSON.parse(new TextDecoder().decode(body));
        bodies.push(sent);
        const acked = sent.events.at(-1)?.seq ?? 0;
        const taken = { status: 200, headers: HEADERS, body: JSON.stringify({ acked }) };
        return portal.answers(bodies.length) ?? taken;
      },
    }),
  }));
  const run = await startToy(
    machine,
    toy({
      long: step(async ({ progress, ports }) => {
        for (let done = 0; done < seconds; done += 10) {
          await progress({ done, total: seconds, unit: "seconds" });
          await ports.clock.sleep(10_000);
        }
        return { kind: "done" };
      }, { timeoutMs: 100_000_000 }),
    }),
  );
  const inFlight: InFlight = { request: null };
  /** Sends whatever is due, for so long. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      await machine.clock.advance(1_000);
      if (run.context.channels.waitMs("events") <= 0) await sendEvents(run.context, inFlight);
    }
  };
  return { bodies, portal, run, pass };
}

function seqs(body: EventsRequest | undefined): number[] {
  return body?.events.map(({ seq }) => seq) ?? [];
}

Deno.test("sendEvents: three refusals of one request are counted while the operation has more to tell", async () => {
  const { bodies, portal, run, pass } = await setUp(100);
  portal.answers = (nth) => nth <= 3 ? REFUSED : null;
  await pass(150_000);
  await run.done;
  assert.deepEqual(seqs(bodies[1]), seqs(bodies[0]), "the same request again");
  assert.deepEqual(bodies[2], bodies[0]);
  // Those of the third refusal are gone; what came meanwhile is sent, and the result.
  const refused = seqs(bodies[0]);
  assert.equal(seqs(bodies[3])[0], (refused.at(-1) ?? 0) + 1);
  assert.equal(bodies.at(-1)?.result?.state, "succeeded");
  assert.equal(run.context.store.state.operation, null);
  const taken = bodies.slice(3).flatMap(seqs);
  assert.deepEqual(taken, taken.map((_, index) => (refused.at(-1) ?? 0) + 1 + index));
});

Deno.test("sendEvents: trouble of the portal loses no event and sends none twice in other words", async () => {
  const { bodies, portal, run, pass } = await setUp(60);
  portal.answers = (nth) => nth % 3 === 0 ? null : BROKEN;
  await pass(600_000);
  await run.done;
  assert.equal(run.context.store.state.operation, null);
  const seen = new Map<number, string>();
  for (const event of bodies.flatMap(({ events }) => events)) {
    const text = JSON.stringify(event);
    assert.equal(seen.get(event.seq) ?? text, text);
    seen.set(event.seq, text);
  }
  assert.deepEqual([...seen.keys()].sort((a, b) => a - b), [...seen].map((_, index) => index + 1));
});

Deno.test("sendEvents: a result refused to the end is kept and raises report_rejected, and the next may run", async () => {
  const { bodies, portal, run, pass } = await setUp(10);
  portal.answers = () => REFUSED;
  await pass(900_000);
  await run.done;
  const { state } = run.context.store;
  assert.equal(state.operation, null);
  assert.equal(state.finished["op-1"]?.result.state, "succeeded");
  assert.deepEqual(state.conditions.map(({ code }) => code), ["report_rejected"]);
  const alone = bodies.filter(({ events, result }) => events.length === 0 && result !== undefined);
  assert.equal(alone.length, 3);
  assert.deepEqual(alone[0]?.result, { state: "succeeded" });
  const count = bodies.length;
  await pass(600_000);
  assert.equal(bodies.length, count, "nothing more is sent");
});
