import assert from "node:assert/strict";
import { createFakeClock } from "../../adapters/fake/clock.ts";

const NOW = Date.UTC(2026, 4, 1);

Deno.test("createFakeClock: stands still until it is moved", async () => {
  const clock = createFakeClock({ now: NOW });
  await clock.settle();
  assert.deepEqual([clock.now(), clock.monotonic()], [NOW, 0]);
  await clock.advance(1_500);
  assert.deepEqual([clock.now(), clock.monotonic()], [NOW + 1_500, 1_500]);
});

Deno.test("createFakeClock: wakes each sleeper at its own time, and those it starts meanwhile", async () => {
  const clock = createFakeClock({ now: NOW });
  const log: string[] = [];
  async function loop(name: string, ms: number): Promise<void> {
    while (true) {
      await clock.sleep(ms);
      for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
      log.push(`${name}${clock.monotonic()}`);
    }
  }
  loop("a", 10);
  loop("b", 15);
  await clock.advance(35);
  assert.deepEqual(log, ["a10", "b15", "a20", "b30", "a30"]);
  assert.equal(clock.monotonic(), 35);
});

Deno.test("createFakeClock: sets off what is due at one moment in the order of its start", async () => {
  const clock = createFakeClock();
  const woke: number[] = [];
  for (const name of [1, 2, 3]) clock.sleep(10).then(() => woke.push(name));
  await clock.advance(9);
  assert.deepEqual(woke, []);
  await clock.advance(1);
  assert.deepEqual(woke, [1, 2, 3]);
});

Deno.test("createFakeClock: jumps to the next sleep or deadline, and says when there is none", async () => {
  const clock = createFakeClock();
  const deadline = clock.deadline(60_000);
  let woke = false;
  clock.sleep(5_000).then(() => Promise.resolve()).then(() => woke = true);
  assert.deepEqual(clock.pending(), { count: 2, nextIn: 5_000 });
  assert.equal(await clock.advanceToNext(), true);
  assert.equal(woke, true);
  assert.equal(clock.monotonic(), 5_000);
  assert.equal(await clock.advanceToNext(), true);
  assert.equal(clock.monotonic(), 60_000);
  assert.equal(deadline.signal.aborted, true);
  assert.equal(await clock.advanceToNext(), false);
  assert.deepEqual(clock.pending(), { count: 0, nextIn: null });
  clock.sleep(Infinity);
  assert.equal(await clock.advanceToNext(), false);
});

Deno.test("createFakeClock: keeps no timer of a sleep or deadline that was ended", () => {
  const clock = createFakeClock();
  const controller = new AbortController();
  clock.sleep(1_000, controller.signal);
  const deadline = clock.deadline(1_000);
  assert.equal(clock.pending().count, 2);
  controller.abort();
  deadline.clear();
  assert.equal(clock.pending().count, 0);
});

Deno.test("createFakeClock: a wall clock that jumps moves no sleep", async () => {
  const clock = createFakeClock({ now: NOW });
  let over = false;
  clock.sleep(100).then(() => over = true);
  clock.setWallClock(NOW + 86_400_000);
  await clock.advance(99);
  assert.deepEqual([over, clock.monotonic()], [false, 99]);
  assert.equal(clock.now(), NOW + 86_400_000 + 99);
  clock.setWallClock(NOW - 86_400_000);
  await clock.advance(1);
  assert.deepEqual([over, clock.monotonic()], [true, 100]);
  assert.equal(clock.now(), NOW - 86_400_000 + 1);
});

Deno.test("createFakeClock: waits for what runs outside of time, as it is told to", async () => {
  let outside = Promise.resolve();
  const clock = createFakeClock({
    settle: async () => {
      await Promise.resolve();
      await outside;
    },
  });
  const seen: number[] = [];
  clock.sleep(10).then(() => {
    const answer = new Promise((resolve) => setTimeout(resolve, 5));
    outside = answer.then(() => {
      seen.push(clock.monotonic());
    });
  });
  await clock.advance(1_000);
  assert.deepEqual(seen, [10]);
});
