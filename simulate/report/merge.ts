import { fail, ok, type Result } from "../../core/result.ts";
import { addHistograms, COARSE_BITS, type Histogram, openRecording } from "./histogram.ts";
import type { AgentState, Endpoint, Report, ReportEndpoint, ReportSlice } from "./report.ts";
import { summaryOf } from "./summary.ts";

type ReportHistogram = ReportEndpoint["response"];

/** What all shards of one run have in common; anything else makes them reports of different runs. */
const SAME: readonly (readonly [what: string, of: (report: Report) => unknown])[] = [
  ["mode", ({ mode }) => mode],
  ["program.version", ({ program }) => program.version],
  ["run.portal", ({ run }) => run.portal],
  ["run.agents", ({ run }) => run.agents],
  ["run.seed", ({ run }) => run.seed],
  ["run.profile", ({ run }) => run.profile],
  ["run.duration_ms", ({ run }) => run.duration_ms],
  ["run.ramp_ms", ({ run }) => run.ramp_ms],
  ["run.warmup_ms", ({ run }) => run.warmup_ms],
  ["run.cycle_ms", ({ run }) => run.cycle_ms],
  ["run.slice_ms", ({ run }) => run.slice_ms],
  ["run.shards.of", ({ run }) => run.shards.of],
];

/**
 * The report of all shards together, but for the SLO, which is judged anew. Histograms add up exactly.
 * The error says which reports do not fit together, and why.
 */
export function mergeReports(reports: readonly Report[]): Result<Report, string> {
  const [first, ...others] = reports;
  if (first === undefined) return fail("there is no report to merge");
  for (const other of others) {
    for (const [what, of] of SAME) {
      if (JSON.stringify(of(first)) === JSON.stringify(of(other))) continue;
      return fail(
        `${what} is ${JSON.stringify(of(first))} in one report and ${
          JSON.stringify(of(other))
        } in ` +
          "another: these are no shards of one run",
      );
    }
  }
  const included = reports.flatMap(({ run }) => run.shards.included).sort((a, b) => a - b);
  const twice = included.find((shard, index) => included.indexOf(shard) !== index);
  if (twice !== undefined) return fail(`shard ${twice} is in more than one of the reports`);
  return ok({
    ...first,
    run: {
      ...first.run,
      shards: { of: first.run.shards.of, included },
      started_at: reports.map(({ run }) => run.started_at).sort()[0] ?? first.run.started_at,
      ended_at: reports.map(({ run }) => run.ended_at).sort().at(-1) ?? first.run.ended_at,
      ended_by: reports.some(({ run }) => run.ended_by === "signal") ? "signal" : "duration",
    },
    agents: {
      included: total(reports, ({ agents }) => agents.included),
      started: total(reports, ({ agents }) => agents.started),
      enrolled: total(reports, ({ agents }) => agents.enrolled),
      states: addCounts(reports.map(({ agents }) => agents.states)),
    },
    endpoints: mergeEndpoints(reports.map(({ endpoints }) => endpoints)),
    errors: addCounts(reports.map(({ errors }) => errors)),
    provoked: addCounts(reports.map(({ provoked }) => provoked)),
    operations: mergeOperations(reports.map(({ operations }) => operations)),
    happenings: addCounts(reports.map(({ happenings }) => happenings)),
    slices: mergeSlices(reports),
    slo: [],
    resources: mergeResources(reports.map(({ resources }) => resources)),
    faults: reports.flatMap(({ faults }) => faults),
  });
}

function total(reports: readonly Report[], of: (report: Report) => number): number {
  return reports.reduce((sum, report) => sum + of(report), 0);
}

/** Keys in order, so that the same shards give the same report in whatever order they come. */
function addCounts<K extends string>(
  all: readonly Partial<Record<K, number>>[],
): Partial<Record<K, number>> & Record<string, number> {
  const counts = new Map<string, number>();
  for (const one of all) {
    for (const [key, count] of Object.entries<number | undefined>(one)) {
      counts.set(key, (counts.get(key) ?? 0) + (count ?? 0));
    }
  }
  const entries = [...counts].sort(([one], [other]) => one < other ? -1 : 1);
  return Object.fromEntries(entries) as Partial<Record<K, number>> & Record<string, number>;
}

function addAll(histograms: readonly Histogram[], empty: Histogram): ReportHistogram {
  const { buckets, ...rest } = histograms.reduce(addHistograms, empty);
  return { ...rest, buckets: buckets.map(([bucket, count]) => [bucket, count]) };
}

function emptyLike({ bits }: Histogram): Histogram {
  return openRecording(bits).snapshot();
}

function mergeEndpoints(all: readonly Report["endpoints"][]): Report["endpoints"] {
  const merged: Partial<Record<Endpoint, ReportEndpoint>> = {};
  for (const one of all) {
    for (const [name, figures] of Object.entries(one) as [Endpoint, ReportEndpoint][]) {
      const before = merged[name];
      merged[name] = before === undefined ? figures : addEndpoints(before, figures);
    }
  }
  return merged;
}

function addEndpoints(one: ReportEndpoint, other: ReportEndpoint): ReportEndpoint {
  const response = addAll([one.response, other.response], emptyLike(one.response));
  return {
    requests: one.requests + other.requests,
    succeeded: one.succeeded + other.succeeded,
    errors: one.errors + other.errors,
    provoked: one.provoked + other.provoked,
    response,
    response_ms: summaryOf(response),
    service: addAll([one.service, other.service], emptyLike(one.service)),
  };
}

function mergeOperations(all: readonly Report["operations"][]): Report["operations"] {
  const merged: Report["operations"] = {};
  for (const one of all) {
    for (const [kind, figures] of Object.entries(one)) {
      const before = merged[kind];
      merged[kind] = before === undefined ? figures : {
        begun: before.begun + figures.begun,
        results: addCounts([before.results, figures.results]),
        duration_ms: addAll(
          [before.duration_ms, figures.duration_ms],
          emptyLike(figures.duration_ms),
        ),
      };
    }
  }
  return merged;
}

/** A shard that has not begun has agents that wait, one that has ended leaves them as they were. */
function mergeSlices(reports: readonly Report[]): ReportSlice[] {
  const moments = new Set(reports.flatMap(({ slices }) => slices.map(({ at_ms }) => at_ms)));
  const shards = reports.map(({ slices, agents }) => ({
    slices: new Map(slices.map((slice) => [slice.at_ms, slice])),
    states: { waiting: agents.included } as Partial<Record<AgentState, number>>,
  }));
  return [...moments].sort((one, other) => one - other).map((at_ms) => {
    const there = shards.flatMap((shard) => {
      const slice = shard.slices.get(at_ms);
      if (slice !== undefined) shard.states = slice.states;
      return slice ?? [];
    });
    return {
      at_ms,
      requests: addCounts(there.map(({ requests }) => requests)),
      errors: addCounts(there.map(({ errors }) => errors)),
      provoked: addCounts(there.map(({ provoked }) => provoked)),
      sync: addAll(there.map(({ sync }) => sync), openRecording(COARSE_BITS).snapshot()),
      states: addCounts(shards.map(({ states }) => states)),
    };
  });
}

/** Sums; one shard that was not measured leaves nothing that could be said of all. */
function mergeResources(all: readonly Report["resources"][]): Report["resources"] {
  const known = all.filter((one) => one !== null);
  const [first] = known;
  if (first === undefined || known.length < all.length) return null;
  return {
    cpu_ms: known.reduce((sum, { cpu_ms }) => sum + cpu_ms, 0),
    rss_bytes: known.reduce((sum, { rss_bytes }) => sum + rss_bytes, 0),
    busiest_share: Math.max(...known.map(({ busiest_share }) => busiest_share)),
    lateness: addAll(known.map(({ lateness }) => lateness), emptyLike(first.lateness)),
  };
}
