import assert from "node:assert/strict";
import { createFakeClock } from "../../../adapters/fake/clock.ts";
import { createSaver } from "../../../adapters/portal/saver.ts";

/** A state that takes `ms` to save. */
function world(ms: number) {
  const clock = createFakeClock();
  let now = 0;
  let dirty = true;
  let saves = 0;
  const saver = createSaver({
    clock: { sleep: clock.sleep, monotonic: () => now },
    isDirty: () => dirty,
    save() {
      now += ms;
      dirty = false;
      saves += 1;
    },
  });
  return { clock, saver, touch: () => dirty = true, saves: () => saves };
}

Deno.test("saved: what saves quickly is saved for every answer, nothing where nothing changed", async () => {
  const { saver, touch, saves } = world(1);
  await saver.saved();
  await saver.saved();
  assert.equal(saves(), 1);
  touch();
  await saver.saved();
  assert.equal(saves(), 2);
});

Deno.test("saved: what takes long is saved once for all answers that wait, and none leaves before", async () => {
  const { clock, saver, touch, saves } = world(50);
  await saver.saved();
  touch();
  let left = 0;
  const waiting = [1, 2, 3].map(() => saver.saved().then(() => left += 1));
  await clock.advance(149);
  assert.deepEqual([left, saves()], [0, 1]);
  await clock.advance(1);
  await Promise.all(waiting);
  assert.deepEqual([left, saves()], [3, 2]);
});

Deno.test("saved: an answer that changed nothing waits for the save it may depend on", async () => {
  const { clock, saver, touch, saves } = world(50);
  await saver.saved();
  touch();
  const first = saver.saved();
  const second = saver.saved();
  await clock.advance(150);
  await Promise.all([first, second]);
  assert.equal(saves(), 2);
});

Deno.test("saved: a save that fails is told, at once and later", async () => {
  const clock = createFakeClock();
  let now = 0;
  const saver = createSaver({
    clock: { sleep: clock.sleep, monotonic: () => now },
    isDirty: () => true,
    save() {
      now += 50;
      if (now > 50) throw new Error("the disk is full");
    },
  });
  await saver.saved();
  const later = assert.rejects(saver.saved(), /the disk is full/);
  await clock.advance(150);
  await later;
});
