import assert from "node:assert/strict";
import { liveLine, liveLines } from "../../../../cli/simulate/live_view.ts";
import { openRecorder } from "../../../../simulate/report/recorder.ts";

function moment() {
  const recorder = openRecorder(() => 0, 1000);
  for (let index = 0; index < 3; index++) {
    recorder.move(null, "waiting");
    if (index > 0) recorder.move("waiting", index === 1 ? "synced" : "failing");
  }
  recorder.request({ endpoint: "sync", due: 0, sent: 5, ended: 20, outcome: { kind: "success" } });
  const outcome = { kind: "error", code: "timeout" } as const;
  recorder.request({ endpoint: "events", due: 0, sent: 0, ended: 9, outcome });
  const lost = { kind: "provoked", code: "answer_lost" } as const;
  recorder.request({ endpoint: "sync", due: 0, sent: 0, ended: 9, outcome: lost });
  return { look: recorder.look(), elapsedMs: 65_000, durationMs: 3_725_000, rate: 1.25 };
}

Deno.test("liveLine: states, rate, latencies since the requests were due, errors by code", () => {
  assert.equal(
    liveLine(moment()),
    "01:05  1 waiting, 1 synced, 1 failing; 1.3 req/s; " +
      "sync p50 20.0 ms, p90 20.0 ms, p99 20.0 ms, max 20.0 ms; errors 1 timeout (and 1 by the profile)",
  );
});

Deno.test("liveLines: the same in lines, with how long it goes on", () => {
  const lines = liveLines(moment());
  assert.match(lines[0] ?? "", /^01:05 of 1:02:05 .* 3 in all$/);
  assert.equal(lines.length, 4);
});

Deno.test("liveLine: nothing has happened yet", () => {
  const look = openRecorder(() => 0, 1000).look();
  const line = liveLine({ look, elapsedMs: 0, durationMs: 1000, rate: 0 });
  assert.equal(line, "00:00  no agents; 0.0 req/s; sync none yet; errors none");
});
