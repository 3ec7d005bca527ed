import assert from "node:assert/strict";
import type { Clock } from "../../core/ports/clock.ts";

/** A clock to be tried out. */
export interface ClockUnderTest {
  readonly clock: Clock;
  /** Lets at least `ms` milliseconds pass on it. */
  pass(ms: number): Promise<void>;
}

const HOUR = 3_600_000;
/** Some timers of the runtime go off up to a millisecond early. */
const SLACK = 1;

/** Registers the contract of the clock port for one adapter; `subject` names it in the tests. */
export function clockContract(subject: string, make: () => ClockUnderTest): void {
  function check(behaviour: string, body: (test: ClockUnderTest) => Promise<void>): void {
    Deno.test({
      name: `${subject}: ${behaviour}`,
      // A timer that stays behind would keep the program from ending.
      sanitizeOps: true,
      sanitizeResources: true,
      fn: () => body(make()),
    });
  }

  check("tells the wall clock in milliseconds since the epoch", ({ clock }) => {
    assert.ok(clock.now() > Date.UTC(2025, 0, 1));
    return Promise.resolve();
  });

  check("counts passing time, without going back", async ({ clock, pass }) => {
    const before = clock.monotonic();
    assert.ok(clock.monotonic() >= before);
    await pass(10);
    assert.ok(clock.monotonic() >= before + 10 - SLACK);
  });

  check("sleeps as long as asked, the shorter first", async ({ clock, pass }) => {
    const woke: number[] = [];
    const start = clock.monotonic();
    const sleeps = [30, 10, 20].map((ms) =>
      clock.sleep(ms).then(() => {
        woke.push(ms);
        assert.ok(clock.monotonic() >= start + ms - SLACK);
      })
    );
    await Promise.resolve();
    assert.deepEqual(woke, []);
    await pass(30);
    await Promise.all(sleeps);
    assert.deepEqual(woke, [10, 20, 30]);
  });

  check("sleeps no time where none is left", async ({ clock, pass }) => {
    const sleeps = [0, -5, NaN].map((ms) => clock.sleep(ms));
    await pass(1);
    await Promise.all(sleeps);
  });

  check("sleeps longer than one timer of the runtime can", async ({ clock, pass }) => {
    for (const ms of [2 ** 31, 2 ** 33, Infinity]) {
      const controller = new AbortController();
      let over = false;
      const sleep = clock.sleep(ms, controller.signal).then(() => over = true);
      await pass(5);
      assert.equal(over, false, String(ms));
      controller.abort();
      await sleep;
    }
  });

  check("ends a sleep as soon as its signal aborts", async ({ clock }) => {
    const controller = new AbortController();
    const sleep = clock.sleep(HOUR, controller.signal);
    controller.abort();
    await sleep;
  });

  check("does not begin a sleep whose signal has aborted", async ({ clock }) => {
    await clock.sleep(HOUR, AbortSignal.abort());
  });

  check("leaves no listener on a signal, however the sleep ends", async ({ clock, pass }) => {
    const { controller, listeners } = countedSignal();
    const short = clock.sleep(1, controller.signal);
    assert.equal(listeners(), 1);
    await pass(1);
    await short;
    assert.equal(listeners(), 0);
    const long = clock.sleep(HOUR, controller.signal);
    assert.equal(listeners(), 1);
    controller.abort();
    await long;
    assert.equal(listeners(), 0);
  });

  check("aborts a deadline's signal when the time is over", async ({ clock, pass }) => {
    const deadline = clock.deadline(10);
    assert.equal(deadline.signal.aborted, false);
    const aborted = new Promise((resolve) => deadline.signal.addEventListener("abort", resolve));
    await pass(10);
    await aborted;
    assert.equal(deadline.signal.reason.name, "TimeoutError");
    deadline.clear();
  });

  check("stops a deadline that is cleared, once or twice", async ({ clock, pass }) => {
    const deadline = clock.deadline(5);
    const forgotten = clock.deadline(HOUR);
    deadline.clear();
    deadline.clear();
    forgotten.clear();
    await pass(15);
    assert.equal(deadline.signal.aborted, false);
  });
}

function countedSignal(): { readonly controller: AbortController; listeners(): number } {
  const controller = new AbortController();
  const { signal } = controller;
  let count = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...values: Parameters<typeof add>) => {
    count += 1;
    add(...values);
  };
  signal.removeEventListener = (...values: Parameters<typeof remove>) => {
    count -= 1;
    remove(...values);
  };
  return { controller, listeners: () => count };
}
