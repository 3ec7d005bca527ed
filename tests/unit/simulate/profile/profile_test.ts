import assert from "node:assert/strict";
import { createFakeRandom } from "../../../../adapters/fake/random.ts";
import { builtInProfile, PROFILE_NAMES } from "../../../../simulate/profile/built_in.ts";
import { drawNode, drawPause } from "../../../../simulate/profile/node_profile.ts";
import { Profile } from "../../../../simulate/profile/profile.ts";
import { readProfile } from "../../../../simulate/profile/read_profile.ts";

Deno.test("readProfile: YAML and JSON, and what is left out does not happen", () => {
  const yaml = readProfile("nodes:\n  flaky: 0.5 # half of them\nwork: { updates: 2 }\n");
  assert.ok(yaml.ok);
  assert.deepEqual(yaml.value, Profile.parse({ nodes: { flaky: 0.5 }, work: { updates: 2 } }));
  assert.equal(yaml.value.faults.kills, 0);
  assert.deepEqual(readProfile('{"nodes": {"flaky": 0.5}, "work": {"updates": 2}}'), yaml);
  assert.deepEqual(readProfile(""), { ok: true, value: builtInProfile("calm") });
});

Deno.test("readProfile: names the member that is wrong", () => {
  const wrong = (text: string) => {
    const profile = readProfile(text);
    return profile.ok ? "" : profile.error;
  };
  assert.match(wrong("nodes: { flaky: 2 }"), /nodes\.flaky/);
  assert.match(wrong("wrok: {}"), /wrok/);
  assert.match(wrong("work: { operations: { 'snapshot.sieve': 1 } }"), /snapshot\.sieve/);
  assert.match(wrong("a: [1"), /is no YAML/);
});

Deno.test("builtInProfile: calm has no faults, each of the others has some", () => {
  const rates = PROFILE_NAMES.map((name) => {
    const { until: _until, clock_jump_s: _jump, ...faults } = builtInProfile(name).faults;
    return Object.values(faults).reduce((sum, rate) => sum + rate, 0);
  });
  assert.deepEqual([rates[0], (rates[1] ?? 0) > 0, (rates[2] ?? 0) > (rates[1] ?? 0)], [
    0,
    true,
    true,
  ]);
});

Deno.test("drawNode: shares of nodes are as asked for, whatever else is drawn", () => {
  const random = createFakeRandom(3);
  const profile = Profile.parse({ nodes: { flaky: 0.2, skewed: 0.5, skew_s: 100, slow: 0.1 } });
  const nodes = Array.from({ length: 5_000 }, () => drawNode(profile, random));
  const share = (has: (node: (typeof nodes)[number]) => boolean) =>
    nodes.filter(has).length / nodes.length;
  assert.ok(Math.abs(share(({ factor }) => factor > 1) - 0.2) < 0.02);
  assert.ok(Math.abs(share(({ skewMs }) => skewMs !== 0) - 0.5) < 0.02);
  assert.ok(nodes.every(({ skewMs }) => Math.abs(skewMs) <= 100_000));
});

Deno.test("drawPause: as often per hour as asked for; never at a rate of 0", () => {
  const random = createFakeRandom(4);
  const pauses = Array.from({ length: 5_000 }, () => drawPause(6, random));
  const mean = pauses.reduce((sum, ms) => sum + ms, 0) / pauses.length;
  assert.ok(Math.abs(mean - 600_000) < 30_000, String(mean));
  assert.equal(drawPause(0, random), Infinity);
});
