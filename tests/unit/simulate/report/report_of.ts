import { openRecorder } from "../../../../simulate/report/recorder.ts";
import { type AgentState, Report } from "../../../../simulate/report/report.ts";

/** What a test says of a report; the rest is as of a run without anything special. */
export interface ReportOf {
  readonly agents?: number;
  /** Response times of syncs, milliseconds. */
  readonly syncs?: readonly number[];
  readonly errors?: Readonly<Record<string, number>>;
  readonly states?: Partial<Record<AgentState, number>>;
  readonly shard?: readonly [index: number, of: number];
  readonly seed?: number;
}

/** A report as a recorder makes it. */
export function reportOf(
  { agents = 1, syncs = [1], errors = {}, states = { synced: agents }, shard = [0, 1], seed = 1 }:
    ReportOf,
): Report {
  let now = 1_000_000;
  const recorder = openRecorder(() => now, 1000);
  for (const [state, count] of Object.entries(states) as [AgentState, number][]) {
    for (let index = 0; index < count; index++) {
      recorder.move(null, "waiting");
      recorder.move("waiting", state);
      recorder.enrolled();
    }
  }
  for (const ms of syncs) {
    now += 250;
    const outcome = { kind: "success" } as const;
    recorder.request({ endpoint: "sync", due: 0, sent: ms / 2, ended: ms, outcome });
  }
  for (const [code, count] of Object.entries(errors)) {
    for (let index = 0; index < count; index++) {
      const outcome = { kind: "error", code } as const;
      recorder.request({ endpoint: "sync", due: 0, sent: 0, ended: 0, outcome });
    }
  }
  const { started, enrolled, states: last, lateness, ...recorded } = recorder.finish();
  // Parsed, so that what the recorder makes is proven to be a report.
  return Report.parse({
    kind: "pbx-simulate-report",
    format: 1,
    mode: "real",
    program: { version: "0.1.0", runtime: "test" },
    run: {
      portal: "http://127.0.0.1:1/agent/v1",
      agents: agents * shard[1],
      seed,
      profile: {},
      duration_ms: 60_000,
      ramp_ms: 1000,
      cycle_ms: 30_000,
      slice_ms: 1000,
      shards: { of: shard[1], included: [shard[0]] },
      started_at: "2026-01-01T00:00:00Z",
      ended_at: "2026-01-01T00:01:00Z",
      ended_by: "duration",
    },
    agents: { included: agents, started, enrolled, states: last },
    slo: [],
    resources: { cpu_ms: 100, rss_bytes: 1000, lateness },
    ...recorded,
  });
}
