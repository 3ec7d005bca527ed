import assert from "node:assert/strict";
import type { HttpRequest } from "../../../../core/ports/http.ts";
import { watchAgent } from "../../../../simulate/fleet/agent_watch.ts";
import { openRecorder } from "../../../../simulate/report/recorder.ts";

function watched() {
  let now = 0;
  const recorder = openRecorder(() => now, 1000);
  const watch = watchAgent({ name: "agent 7", recorder, monotonic: () => now });
  const stage = (stage: string) =>
    watch.observe({ kind: "log", level: "info", event: "stage", message: "", fields: { stage } });
  const report = (id: string, body: unknown) =>
    watch.reports({
      url: `https://portal.test/agent/v1/operations/${id}/events`,
      body: new TextEncoder().encode(JSON.stringify(body)),
    } as HttpRequest);
  return { watch, recorder, stage, report, pass: (ms: number) => now += ms };
}

Deno.test("watchAgent: follows the agent's life, and its last sync", () => {
  const { watch, recorder, stage } = watched();
  const states: string[] = [watch.state()];
  const note = (act: () => void) => {
    act();
    states.push(watch.state());
  };
  note(() => watch.observe({ kind: "started", version: "1" }));
  note(() => watch.answered("enroll", true));
  note(() => stage("starting_k3s"));
  note(() => watch.answered("sync", true));
  note(() => stage("syncing"));
  note(() => watch.answered("sync", false));
  note(() => watch.observe({ kind: "killed", power: "lost", at: "x" }));
  note(() => watch.observe({ kind: "started", version: "1" }));
  note(() => watch.answered("sync", true));
  note(() => stage("revoked"));
  assert.deepEqual(states, [
    ...["waiting", "enrolling", "enrolling", "starting", "starting", "synced"],
    ...["failing", "down", "failing", "synced", "idle"],
  ]);
  const { enrolled, started, states: last } = recorder.finish();
  assert.deepEqual([enrolled, started, last], [1, 1, { idle: 1 }]);
});

Deno.test("watchAgent: a program that ends with an error is a fault of the agent", () => {
  const { watch, recorder } = watched();
  watch.observe({ kind: "started", version: "1" });
  watch.observe({ kind: "ended", how: "updated" });
  assert.equal(watch.state(), "down");
  watch.observe({ kind: "ended", how: "crashed: no reason" });
  assert.equal(watch.state(), "crashed");
  assert.deepEqual(recorder.finish().faults, [{ agent: "agent 7", message: "crashed: no reason" }]);
});

Deno.test("watchAgent: operations by their kind, each once, with the time that they took", () => {
  const { watch, recorder, report, pass } = watched();
  report("sim-snapshot-save-x-1", { events: [{ seq: 1 }] });
  pass(1500);
  const result = { state: "succeeded", output: { file: "snapshot-1" } };
  report("sim-snapshot-save-x-1", { events: [], result });
  report("sim-snapshot-save-x-1", { events: [], result });
  report("sim-agent-rotate_key-x-2", { events: [], result: { state: "refused" } });
  report("op-of-somebody", { events: [{ seq: 1 }] });
  assert.equal(watch.snapshot(), "snapshot-1");
  const { operations } = recorder.finish();
  assert.deepEqual(operations["snapshot.save"]?.results, { succeeded: 1 });
  assert.equal(operations["snapshot.save"]?.begun, 1);
  assert.equal(operations["snapshot.save"]?.duration_ms.max, 1500);
  assert.deepEqual(operations["agent.rotate_key"]?.results, { refused: 1 });
  assert.deepEqual([operations["unknown"]?.begun, operations["unknown"]?.results], [1, {}]);
});
