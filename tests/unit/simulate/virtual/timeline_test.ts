import assert from "node:assert/strict";
import fc from "fast-check";
import { createTimeline, runTimelines } from "../../../../simulate/virtual/timeline.ts";

Deno.test("timeline: what is planned goes off in the order of time, then of its planning", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 20 })), async (delays) => {
      const timeline = createTimeline(1_000);
      const seen: [number, number][] = [];
      delays.forEach((ms, index) =>
        timeline.after(ms, () => seen.push([timeline.elapsed(), index]))
      );
      await runTimelines([timeline], 100);
      const wanted = delays.map((ms, index): [number, number] => [ms, index])
        .toSorted(([a, i], [b, j]) => a - b || i - j);
      assert.deepEqual(seen, wanted);
      assert.equal(timeline.elapsed(), 100);
      assert.equal(timeline.clock.now(), 1_100);
    }),
    { seed: 5, numRuns: 50 },
  );
});

Deno.test("timeline: what was taken back does not go off, and what lies behind the end waits", async () => {
  const timeline = createTimeline(0);
  const seen: string[] = [];
  const takeBack = timeline.after(10, () => seen.push("taken back"));
  timeline.after(20, () => seen.push("in time"));
  timeline.after(31, () => seen.push("later"));
  takeBack();
  await runTimelines([timeline], 30);
  assert.deepEqual(seen, ["in time"]);
  await runTimelines([timeline], 31);
  assert.deepEqual(seen, ["in time", "later"]);
});

Deno.test("timeline: everything that one event wakes has run before the next one goes off", async () => {
  const timeline = createTimeline(0);
  const seen: string[] = [];
  const deep = async (name: string) => {
    await timeline.clock.sleep(10);
    for (let turns = 0; turns < 50; turns++) await null;
    seen.push(name);
  };
  void deep("first");
  timeline.after(10, () => seen.push("second"));
  await runTimelines([timeline], 20);
  assert.deepEqual(seen, ["first", "second"]);
});

Deno.test("timeline: a sleep ends with its signal, a deadline aborts its own", async () => {
  const timeline = createTimeline(0);
  const stop = new AbortController();
  let woken = -1;
  void timeline.clock.sleep(1_000, stop.signal).then(() => woken = timeline.elapsed());
  const deadline = timeline.clock.deadline(50);
  timeline.after(20, () => stop.abort());
  await runTimelines([timeline], 49);
  assert.equal(woken, 20);
  assert.equal(deadline.signal.aborted, false);
  await runTimelines([timeline], 50);
  assert.equal(deadline.signal.aborted, true);
});

Deno.test("timeline: a run ends early where somebody says that it is over", async () => {
  const timeline = createTimeline(0);
  let times = 0;
  const again = () =>
    void timeline.after(10, () => {
      times += 1;
      again();
    });
  again();
  await runTimelines([timeline], 1_000, () => times === 3);
  assert.equal(times, 3);
  assert.equal(timeline.elapsed(), 30);
});

Deno.test("timeline: several at once go in step, each to its own pause", async () => {
  const seen: string[] = [];
  const [busy, idle] = [createTimeline(0), createTimeline(0)];
  for (const ms of [0, 10, 20, 30_000]) busy.after(ms, () => seen.push(`busy ${ms}`));
  for (const ms of [0, 30_000, 60_000]) idle.after(ms, () => seen.push(`idle ${ms}`));
  await runTimelines([busy, idle], 70_000);
  assert.deepEqual(seen.slice(0, 4), ["busy 0", "idle 0", "busy 10", "busy 20"]);
  assert.deepEqual(seen.slice(4), ["busy 30000", "idle 30000", "idle 60000"]);
  assert.deepEqual([busy.elapsed(), idle.elapsed()], [70_000, 70_000]);
});
