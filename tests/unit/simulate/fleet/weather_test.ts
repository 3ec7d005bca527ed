import assert from "node:assert/strict";
import { createFakeRandom } from "../../../../adapters/fake/random.ts";
import { createWeather } from "../../../../simulate/fleet/weather.ts";
import { drawNode } from "../../../../simulate/profile/node_profile.ts";
import { Profile } from "../../../../simulate/profile/profile.ts";

/** What becomes of requests at these moments of a run of 1,000 seconds. */
function fates(given: unknown, seconds: readonly number[], isCut = false) {
  const profile = Profile.parse(given);
  const random = createFakeRandom(1);
  const happened = new Map<string, number>();
  let now = 0;
  const weather = createWeather({
    profile,
    node: drawNode(profile, random),
    random,
    elapsed: () => now * 1000,
    durationMs: 1_000_000,
    happened: (what) => happened.set(what, (happened.get(what) ?? 0) + 1),
  });
  weather.isCut = isCut;
  const drawn = seconds.map((second) => {
    now = second;
    return weather.draw();
  });
  return { drawn, kinds: drawn.map(({ kind }) => kind), happened };
}

Deno.test("weather: fair weather lets every request through, without a delay on top", () => {
  const { drawn } = fates({}, [0, 500, 999]);
  assert.deepEqual(drawn, Array(3).fill({ kind: "none", reply: null, delayMs: 0 }));
});

Deno.test("weather: an outage is for everybody and over when it is over", () => {
  const outage = { portal: { outages: [{ at: 0.5, minutes: 2 }] } };
  const { kinds, drawn } = fates(outage, [499, 500, 619, 620]);
  assert.deepEqual(kinds, ["none", "outage", "outage", "none"]);
  const reply = drawn[1]?.reply;
  assert.ok(reply?.ok === false && reply.error.code === "connect");
});

Deno.test("weather: as many requests as the profile says are lost, answered in vain or replaced", () => {
  const profile = {
    network: { lost_requests: 0.1, lost_answers: 0.2 },
    portal: { errors_503: 0.3, errors_429: 0.05, garbled: 0.05 },
  };
  const { kinds, happened } = fates(profile, Array(4000).fill(1));
  const share = (kind: string) => kinds.filter((one) => one === kind).length / kinds.length;
  assert.ok(Math.abs(share("lost") - 0.1) < 0.02);
  assert.ok(Math.abs(share("answer_lost") - 0.2) < 0.03);
  assert.ok(Math.abs(share("replaced") - 0.4) < 0.03);
  assert.equal(happened.get("lost"), kinds.filter((kind) => kind === "lost").length);
});

Deno.test("weather: nothing goes wrong after the profile's last moment, but a node that is cut off stays so", () => {
  const profile = { network: { lost_requests: 1 }, faults: { until: 0.5 } };
  assert.deepEqual(fates(profile, [499, 500]).kinds, ["lost", "none"]);
  assert.deepEqual(fates({}, [1], true).kinds, ["partition"]);
});

Deno.test("weather: a slow link is a delay on top of the real network", () => {
  const { drawn } = fates({ nodes: { slow: 1 } }, Array(50).fill(1));
  assert.ok(drawn.every(({ delayMs }) => delayMs > 0));
});
