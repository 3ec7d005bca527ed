import assert from "node:assert/strict";
import { createFakeClock, type FakeClock } from "../../../adapters/fake/clock.ts";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import { openChannels } from "../../../core/agent/channels.ts";
import { EMPTY_STATE } from "../../../core/state/state.ts";
import { openStore, type Store } from "../../../core/state/store.ts";

const MIDDLE = { bytes: (length: number) => new Uint8Array(length), fraction: () => 0.5 };

function setUp() {
  const clock = createFakeClock();
  const store = openStore(createFakeDisk(), EMPTY_STATE, null);
  return { clock, store, channels: openChannels(store, clock, MIDDLE) };
}

/** The program starts again: what is in the state file is all it knows. */
function restart(store: Store, clock: FakeClock) {
  return openChannels(openStore(createFakeDisk(), store.state, store.state), clock, MIDDLE);
}

Deno.test("channels: failures in a row wait longer, a success begins anew", async () => {
  const { clock, channels } = setUp();
  assert.ok(channels.waitMs("sync") <= 0);
  for (const wait of [5, 10, 20, 40, 80, 160, 300, 300]) {
    await channels.failed("sync");
    assert.equal(channels.waitMs("sync"), wait * 1000);
  }
  await clock.advance(299_999);
  assert.equal(channels.waitMs("sync"), 1);
  await channels.succeeded("sync");
  assert.ok(channels.waitMs("sync") <= 0);
  await channels.failed("sync");
  assert.equal(channels.waitMs("sync"), 5_000);
});

Deno.test("channels: trouble with one holds up none of the others", async () => {
  const { channels } = setUp();
  await channels.failed("events", true);
  await channels.asked("manifests", 60_000);
  assert.equal(channels.waitMs("events"), 300_000);
  assert.equal(channels.waitMs("manifests"), 60_000);
  assert.ok(channels.waitMs("sync") <= 0);
});

Deno.test("channels: a start makes one attempt of sync at once, events and manifests keep their rhythm", async () => {
  const { clock, store, channels } = setUp();
  for (const name of ["sync", "events", "manifests"] as const) {
    for (let failure = 0; failure < 3; failure++) await channels.failed(name);
  }
  const after = restart(store, clock);
  assert.ok(after.waitMs("sync") <= 0);
  assert.equal(after.waitMs("events"), 20_000);
  assert.equal(after.waitMs("manifests"), 20_000);
  // The step was not forgotten: the next failure waits as the fourth in a row.
  await after.failed("sync");
  assert.equal(after.waitMs("sync"), 40_000);
});

Deno.test("channels: a running Retry-After is waited out across a restart, by sync too", async () => {
  const { clock, store, channels } = setUp();
  await channels.asked("sync", 600_000);
  await clock.advance(200_000);
  assert.equal(channels.waitMs("sync"), 400_000);
  assert.equal(restart(store, clock).waitMs("sync"), 400_000);
  await clock.advance(400_000);
  assert.ok(restart(store, clock).waitMs("sync") <= 0);
});

Deno.test("channels: whatever the clock does over a restart, the wait ends within an hour", async () => {
  const { clock, store, channels } = setUp();
  await channels.asked("sync", 3_600_000);
  clock.setWallClock(clock.now() - 10 * 24 * 3_600_000);
  assert.equal(restart(store, clock).waitMs("sync"), 3_600_000);
  clock.setWallClock(clock.now() + 20 * 24 * 3_600_000);
  assert.ok(restart(store, clock).waitMs("sync") <= 0);
  // While the program runs, nobody can shorten or stretch it by setting the clock.
  assert.equal(channels.waitMs("sync"), 3_600_000);
});

Deno.test("channels: asking to wait counts as no failure, a failure after it forgets the wait", async () => {
  const { store, channels } = setUp();
  await channels.failed("sync");
  await channels.asked("sync", 60_000);
  assert.equal(store.state.channels.sync.failures, 1);
  await channels.failed("sync");
  assert.deepEqual(store.state.channels.sync, {
    failures: 2,
    retry_after_until: null,
    next_at: null,
  });
});

Deno.test("channels: at the longest step the state stays as it is, so nothing is written", async () => {
  const { store, channels } = setUp();
  for (let failure = 0; failure < 7; failure++) await channels.failed("sync");
  const { sync } = store.state.channels;
  await channels.failed("sync");
  await channels.failed("sync", true);
  assert.deepEqual(store.state.channels.sync, sync);
});

Deno.test("channels: restarts, however many, do not put off the next attempt of events", async () => {
  const { clock, store, channels } = setUp();
  for (let failure = 0; failure < 5; failure++) await channels.failed("events");
  for (let left = 80_000; left > 0; left -= 2_000) {
    assert.equal(restart(store, clock).waitMs("events"), left);
    await clock.advance(2_000);
  }
  assert.ok(restart(store, clock).waitMs("events") <= 0);
});

Deno.test("channels: a clock that was set back over a restart stretches a wait no further than its step", async () => {
  const { clock, store, channels } = setUp();
  for (let failure = 0; failure < 3; failure++) await channels.failed("manifests");
  clock.setWallClock(clock.now() - 24 * 3_600_000);
  assert.equal(restart(store, clock).waitMs("manifests"), 24_000);
  clock.setWallClock(clock.now() + 48 * 3_600_000);
  assert.ok(restart(store, clock).waitMs("manifests") <= 0);
});
