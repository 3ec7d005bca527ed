import assert from "node:assert/strict";
import { openRecorder, type Sample } from "../../../../simulate/report/recorder.ts";

const SYNC: Sample = { endpoint: "sync", due: 0, sent: 5, ended: 20, outcome: { kind: "success" } };

Deno.test("recorder: a response time begins when the request was due, not when it was sent", () => {
  const recorder = openRecorder(() => 0, 1000);
  recorder.request(SYNC);
  const { sync } = recorder.finish().endpoints;
  assert.deepEqual([sync?.response.max, sync?.service.max], [20_000, 15_000]);
});

Deno.test("recorder: what the profile did is counted apart, and its times say nothing", () => {
  const recorder = openRecorder(() => 0, 1000);
  recorder.request({ ...SYNC, outcome: { kind: "provoked", code: "answer_lost" } });
  recorder.request({ ...SYNC, outcome: { kind: "error", code: "timeout" } });
  const { endpoints, errors, provoked } = recorder.finish();
  const { requests, succeeded, errors: failed, provoked: ours, response } = endpoints.sync ??
    assert.fail();
  assert.deepEqual([requests, succeeded, failed, ours, response.count], [2, 0, 1, 1, 1]);
  assert.deepEqual([errors, provoked], [{ timeout: 1 }, { answer_lost: 1 }]);
});

Deno.test("recorder: a slice shows the states at its end, also one in which nothing happened", () => {
  let now = 10_500;
  const recorder = openRecorder(() => now, 1000);
  recorder.move(null, "waiting");
  recorder.move("waiting", "enrolling");
  now = 12_700;
  recorder.move("enrolling", "synced");
  recorder.request(SYNC);
  const { slices, states, started } = recorder.finish();
  assert.deepEqual(slices.map(({ at_ms, states }) => [at_ms, states]), [
    [10_000, { enrolling: 1 }],
    [11_000, { enrolling: 1 }],
    [12_000, { synced: 1 }],
  ]);
  assert.deepEqual([states, started], [{ synced: 1 }, 1]);
});

Deno.test("recorder: times of the warm-up are in the slices alone", () => {
  let now = 0;
  const recorder = openRecorder(() => now, 1000, 2000);
  recorder.request(SYNC);
  recorder.late(3);
  now = 2000;
  recorder.request({ ...SYNC, ended: 40 });
  const { endpoints, slices, lateness } = recorder.finish();
  assert.deepEqual([endpoints.sync?.requests, endpoints.sync?.response.count], [2, 1]);
  assert.deepEqual(slices.map(({ sync }) => sync.count), [1, 0, 1]);
  assert.equal(lateness.count, 0);
});

Deno.test("recorder: what comes after the end is not counted", () => {
  const recorder = openRecorder(() => 0, 1000);
  recorder.move(null, "synced");
  const { states } = recorder.finish();
  recorder.move("synced", "down");
  recorder.request(SYNC);
  assert.deepEqual(states, { synced: 1 });
  assert.equal(recorder.look().requests, 0);
});
