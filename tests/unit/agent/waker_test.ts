import assert from "node:assert/strict";
import { createFakeClock } from "../../../adapters/fake/clock.ts";
import { openWaker } from "../../../core/agent/waker.ts";

Deno.test("waker: ends the sleep that goes on, not the one after it", async () => {
  const clock = createFakeClock();
  const waker = openWaker(new AbortController().signal);
  const first = clock.sleep(60_000, waker.signal());
  waker.wake();
  await first;
  assert.equal(clock.monotonic(), 0);
  let slept = false;
  void clock.sleep(60_000, waker.signal()).then(() => slept = true);
  await clock.advance(59_999);
  assert.equal(slept, false);
  await clock.advance(1);
  assert.equal(slept, true);
});

Deno.test("waker: the program's end wakes every sleep from then on", async () => {
  const clock = createFakeClock();
  const stop = new AbortController();
  const waker = openWaker(stop.signal);
  const sleep = clock.sleep(60_000, waker.signal());
  stop.abort();
  await sleep;
  await clock.sleep(60_000, waker.signal());
  assert.equal(clock.monotonic(), 0);
});

Deno.test("waker: a program that was told to end before it began does not sleep", async () => {
  const stop = new AbortController();
  stop.abort();
  const clock = createFakeClock();
  await clock.sleep(60_000, openWaker(stop.signal).signal());
  assert.equal(clock.monotonic(), 0);
});
