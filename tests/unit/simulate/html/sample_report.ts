import { createFakeRandom } from "../../../../adapters/fake/random.ts";
import { COARSE_BITS, FINE_BITS, openRecording } from "../../../../simulate/report/histogram.ts";
import { Report, type ReportSlice } from "../../../../simulate/report/report.ts";

const AGENTS = 1_000;
const SLICE_MS = 5_000;
const START = Date.UTC(2026, 2, 1, 12);

/**
 * A report as a run of 1,000 agents with an outage in its middle leaves it, the same every time.
 * `slices` of 5 s each.
 */
export function sampleReport(slices = 120): Report {
  const random = createFakeRandom(3);
  const fine = openRecording(FINE_BITS);
  const service = openRecording(FINE_BITS);
  const enroll = openRecording(FINE_BITS);
  const operations = openRecording(FINE_BITS);
  const drawn: ReportSlice[] = [];
  const sums = { sync: 0, enroll: 0, events: 0, errors: 0, provoked: 0 };
  for (let index = 0; index < slices; index++) {
    const share = index / slices;
    const begun = Math.min(1, share * 5);
    const isOut = share > 0.5 && share < 0.6;
    const isBack = share >= 0.6 && share < 0.68;
    const sync = openRecording(COARSE_BITS);
    const requests = Math.round(AGENTS * begun / 6 * (isOut ? 0.3 : isBack ? 1.8 : 1));
    for (let at = 0; at < requests / 8; at++) {
      const base = isBack ? 180_000 : 14_000;
      const us = base * (0.6 + random.fraction()) * (random.fraction() < 0.02 ? 9 : 1);
      sync.record(us);
      fine.record(us);
      service.record(us * 0.7);
    }
    const enrolled = share < 0.2 ? Math.round(AGENTS / (slices * 0.2)) : 0;
    for (let at = 0; at < enrolled; at++) enroll.record(30_000 * (1 + random.fraction() * 4));
    const errors = index % 17 === 3 ? 2 : isBack ? 5 : 0;
    const provoked = isOut ? requests : 0;
    const failing = isOut ? AGENTS : isBack ? Math.round(AGENTS * (0.68 - share) * 12) : errors;
    const waiting = Math.round(AGENTS * (1 - begun));
    const starting = share < 0.25 ? Math.round(60 * begun) : 0;
    const synced = Math.max(0, AGENTS - waiting - starting - failing);
    drawn.push({
      at_ms: START + index * SLICE_MS,
      requests: { sync: requests, enroll: enrolled, events: index % 3 === 0 ? 12 : 0 },
      errors: errors === 0 ? {} : isBack ? { internal: 3, timeout: 2 } : { timeout: errors },
      provoked: provoked === 0 ? {} : { connect: provoked },
      sync: structuredClone(sync.snapshot()) as ReportSlice["sync"],
      states: {
        waiting,
        starting,
        synced,
        failing: Math.min(failing, AGENTS - waiting - starting),
      },
    });
    sums.sync += requests;
    sums.enroll += enrolled;
    sums.events += index % 3 === 0 ? 12 : 0;
    sums.errors += errors;
    sums.provoked += provoked;
  }
  for (let at = 0; at < 40; at++) operations.record(4_000 + random.fraction() * 20_000);
  const figures = (
    requests: number,
    errors: number,
    provoked: number,
    times = fine.snapshot(),
  ) => ({
    requests,
    succeeded: requests - errors - provoked,
    errors,
    provoked,
    response: times,
    response_ms: null,
    service: times === fine.snapshot() ? service.snapshot() : times,
  });
  return Report.parse({
    kind: "pbx-simulate-report",
    format: 1,
    mode: "real",
    program: { version: "0.1.0", runtime: "deno 2.9.6" },
    run: {
      portal: "https://agents.example.com/agent/v1",
      agents: AGENTS,
      seed: 7,
      profile: { network: { lost_answers: 0.001 } },
      duration_ms: slices * SLICE_MS,
      ramp_ms: slices * SLICE_MS / 5,
      cycle_ms: 30_000,
      slice_ms: SLICE_MS,
      shards: { of: 1, included: [0] },
      started_at: new Date(START).toISOString(),
      ended_at: new Date(START + slices * SLICE_MS).toISOString(),
      ended_by: "duration",
    },
    agents: {
      included: AGENTS,
      started: AGENTS,
      enrolled: AGENTS,
      states: { synced: AGENTS - 3, failing: 3 },
    },
    endpoints: {
      enroll: figures(sums.enroll, 0, 0, enroll.snapshot()),
      sync: { ...figures(sums.sync, sums.errors, sums.provoked), service: service.snapshot() },
      events: figures(sums.events, 0, 0, enroll.snapshot()),
    },
    errors: { timeout: 16, internal: 27 },
    provoked: { connect: sums.provoked },
    operations: {
      "snapshot.save": {
        begun: 42,
        results: { succeeded: 38, failed: 2 },
        duration_ms: operations.snapshot(),
      },
    },
    happenings: { outage: 1, restart: 14, lost_answer: 21 },
    slices: drawn,
    slo: [
      { limit: "sync.p99<500ms", measured: 412.345, held: true },
      { limit: "errors<0.1%", measured: 0.2134, held: false },
    ],
    resources: { cpu_ms: 61_000, rss_bytes: 480 * 2 ** 20, lateness: operations.snapshot() },
    faults: [],
  });
}
