import assert from "node:assert/strict";
import { createFakeRandom } from "../../../../adapters/fake/random.ts";
import { nextWindow } from "../../../../core/host/windows.ts";
import type { Maintenance } from "../../../../core/protocol/desired_state.ts";
import { drawStep, inWords } from "../../../../simulate/virtual/clock_steps.ts";
import { otherWindows } from "../../../../simulate/virtual/documents.ts";
import { createPortalClock } from "../../../../simulate/virtual/portal_clock.ts";
import { createTimeline } from "../../../../simulate/virtual/timeline.ts";

const DAY = 86_400_000;

Deno.test("drawStep: seconds to decades, both ways", () => {
  const random = createFakeRandom(1);
  const steps = Array.from({ length: 2_000 }, () => drawStep(random));
  const share = (is: (ms: number) => boolean) => steps.filter(is).length / steps.length;
  assert.ok(share((ms) => Math.abs(ms) < 30_000) > 0.1);
  assert.ok(share((ms) => ms > 30 * DAY && ms < 60 * DAY) > 0.05);
  assert.ok(share((ms) => ms < -10 * 365 * DAY) > 0.02);
  assert.ok(Math.abs(share((ms) => ms < 0) - 0.5) < 0.05);
  assert.deepEqual([inWords(-40.25 * DAY), inWords(1_500)], ["-40.3 days", "+1.5 seconds"]);
});

Deno.test("otherWindows: they are shut at the moment, and most of them on another day are not", () => {
  const random = createFakeRandom(2);
  let open = 0;
  for (let which = 0; which < 200; which++) {
    const now = Date.UTC(2026, 0, 1, 12) + which * 3_600_000;
    const maintenance = otherWindows(random, now).patch["maintenance"] as unknown as Maintenance;
    const isOpen = (at: number) => {
      const next = nextWindow(maintenance, at);
      return next !== null && next.opensAt <= at;
    };
    assert.equal(isOpen(now), false, JSON.stringify([which, maintenance]));
    if (isOpen(now + 3 * DAY)) open += 1;
  }
  assert.ok(open > 40, String(open));
});

Deno.test("portalClock: a step lasts for an answer, until an operation ends, or for minutes", () => {
  const timeline = createTimeline(0);
  const said: string[] = [];
  let steps = 0;
  const clock = createPortalClock({
    timeline,
    random: createFakeRandom(3),
    say: (what) => said.push(what),
    stepped: () => steps += 1,
  });
  clock.begin(60, 20 * 3_600_000);
  let isOff = 0;
  let heard = 0;
  while (timeline.step(24 * 3_600_000)) {
    const last = said.length > heard ? said.at(-1) ?? "" : "";
    heard = said.length;
    if (last.endsWith("for one answer")) {
      assert.equal(clock.ahead(), 0);
      assert.notEqual(clock.answer(clock.ahead), 0);
      assert.equal(clock.answer(clock.ahead), 0);
    }
    if (last.endsWith("until an operation ends")) {
      assert.notEqual(clock.ahead(), 0);
      clock.operationEnded();
      assert.equal(clock.ahead(), 0);
    }
    if (clock.ahead() !== 0) isOff += 1;
  }
  assert.ok(isOff > 100 && steps > 500, `${isOff} ${steps}`);
  assert.equal(clock.ahead(), 0);
  assert.equal(clock.clock.now(), timeline.clock.now());
});
