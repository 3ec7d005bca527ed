import type { Clock } from "../../core/ports/clock.ts";
import type { Profile } from "../profile/profile.ts";
import { openRecorder, type Recorder } from "../report/recorder.ts";
import { type Report, REPORT_FORMAT } from "../report/report.ts";
import { judge, type Limit } from "../report/slo.ts";
import { type FleetOptions, runFleet } from "./fleet.ts";
import type { OwnLimit } from "./own_limit.ts";
import { watchResources } from "./resources.ts";
import type { Tokens } from "./tokens.ts";

/** A run in real time, as it was asked for. */
export interface Simulation extends Pick<FleetOptions, "programs" | "order"> {
  /** Base URLs of the portal, or of several: agents take them in turn, by their numbers. */
  readonly portals: readonly string[];
  /** Of the whole fleet. */
  readonly agents: number;
  readonly shard: { readonly index: number; readonly of: number };
  readonly durationMs: number;
  readonly rampMs: number;
  /** Times before this are not judged, milliseconds. */
  readonly warmupMs: number;
  readonly cycleMs: number;
  readonly seed: number;
  readonly profile: Profile;
  readonly limits: readonly Limit[];
  readonly tokens: Tokens;
  /** Of the simulated agents: their version, and the keys that they verify releases with. */
  readonly version: string;
  readonly releaseKeys: readonly Uint8Array[];
  /** What proves the portals' answers, base64; none: they need no proof. */
  readonly portalKeys: readonly string[];
  readonly caCerts: readonly string[];
}

/** What a run needs from outside. */
export interface Surroundings {
  readonly clock: Clock;
  readonly stop: AbortSignal;
  /** The recorder is there: for the live view, and what acts on the portal beside the agents. */
  readonly begun: (recorder: Recorder) => void;
  /** A limit of this machine was met, for the first time in this run. */
  readonly limited: (limit: OwnLimit) => void;
}

/** A report has about this many slices, however long the run is. */
const SLICES = 200;
/** Lengths that people can read off an axis, milliseconds. */
const SLICE_LENGTHS = [1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 3_600_000];
/** How often the size of the process is looked at, milliseconds. */
const LOOK_MS = 1_000;

/** Runs a simulation, or one shard of it, and gives its report. */
export async function simulate(simulation: Simulation, around: Surroundings): Promise<Report> {
  const { agents, shard, durationMs, rampMs, cycleMs, seed, profile } = simulation;
  const { clock, stop } = around;
  const sliceMs = sliceFor(durationMs);
  const recorder = openRecorder(clock.now, sliceMs, simulation.warmupMs);
  const resources = watchResources();
  const indexes = Array.from({ length: agents }, (_, index) => index)
    .filter((index) => index % shard.of === shard.index);
  const startedAt = new Date(clock.now()).toISOString();
  around.begun(recorder);
  const looking = new AbortController();
  const looked = lookAgain(resources.look, clock, looking.signal);
  const atEnd = Promise.withResolvers<ReturnType<typeof measured>>();
  const measured = () => ({
    recorded: recorder.finish(),
    used: resources.used(),
    endedAt: new Date(clock.now()).toISOString(),
  });
  const over = () => atEnd.resolve(measured());
  const met = new Set<OwnLimit>();
  const limited = (limit: OwnLimit) => {
    recorder.happened(`limit_${limit}`);
    if (!met.has(limit)) around.limited(limit);
    met.add(limit);
  };
  const endedBy = await runFleet({ ...simulation, clock, recorder, indexes, stop, over, limited });
  looking.abort();
  await looked;

  const { recorded: whole, used, endedAt } = await atEnd.promise;
  const { started, enrolled, states, lateness, ...recorded } = whole;
  const report: Report = {
    kind: "pbx-simulate-report",
    format: REPORT_FORMAT,
    mode: "real",
    program: { version: simulation.version, runtime: `deno ${Deno.version.deno}` },
    run: {
      portal: simulation.portals.join(" "),
      agents,
      seed,
      profile,
      duration_ms: durationMs,
      ramp_ms: rampMs,
      warmup_ms: simulation.warmupMs,
      cycle_ms: cycleMs,
      slice_ms: sliceMs,
      shards: { of: shard.of, included: [shard.index] },
      started_at: startedAt,
      ended_at: endedAt,
      ended_by: endedBy,
    },
    agents: { included: indexes.length, started, enrolled, states },
    ...recorded,
    slo: [],
    resources: {
      cpu_ms: used.cpuMs,
      rss_bytes: used.rssBytes,
      busiest_share: used.busiestShare,
      lateness: { ...lateness, buckets: lateness.buckets.map(([one, count]) => [one, count]) },
    },
  };
  return { ...report, slo: judge(report, simulation.limits) };
}

/** The length of a slice for a run of this length, milliseconds. */
export function sliceFor(durationMs: number): number {
  return SLICE_LENGTHS.find((length) => durationMs / length <= SLICES) ?? 3_600_000;
}

async function lookAgain(look: () => void, clock: Clock, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    look();
    await clock.sleep(LOOK_MS, until);
  }
}
