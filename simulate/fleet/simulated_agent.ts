import { createFakeRandom } from "../../adapters/fake/random.ts";
import { createNodeRandom } from "../../adapters/node/random.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Http } from "../../core/ports/http.ts";
import type { Random } from "../../core/ports/random.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import type { KeyWork } from "../../core/protocol/key_work.ts";
import { createNode, type SimulatedNode } from "../node/node.ts";
import type { NodeName } from "../node/node_name.ts";
import type { SimulatedProgram } from "../node/program.ts";
import { drawNode } from "../profile/node_profile.ts";
import type { Profile } from "../profile/profile.ts";
import type { Recorder } from "../report/recorder.ts";
import { type AgentWatch, watchAgent } from "./agent_watch.ts";
import { watchClock } from "./fleet_clock.ts";
import { createFleetHttp, type FleetHttp } from "./http.ts";
import { inTurn } from "./in_turn.ts";
import { measureHttp } from "./measured_http.ts";
import { makeTrouble } from "../virtual/trouble.ts";
import type { RunTimeline } from "./run_timeline.ts";
import type { OwnLimit } from "./own_limit.ts";
import { createWeather } from "./weather.ts";

/** What all agents of a fleet share. */
export interface Shared {
  /** An agent's portal is the one at its number, counted around. */
  readonly portals: readonly string[];
  /** What proves their answers, base64; none: they need no proof. */
  readonly portalKeys: readonly string[];
  readonly clock: Clock;
  readonly recorder: Recorder;
  readonly profile: Profile;
  readonly seed: number;
  readonly version: string;
  readonly releaseKeys: readonly Uint8Array[];
  readonly caCerts: readonly string[];
  readonly keyWork: KeyWork;
  readonly durationMs: number;
  /** Cycles are this far apart, milliseconds. */
  readonly cycleMs: number;
  /** What agents can fetch, by URL; nothing unless told. */
  readonly programs?: ReadonlyMap<string, SimulatedProgram>;
  /** The time of the run; nothing goes off once it is over. */
  readonly timeline: RunTimeline;
  /** Hears of connections that this machine itself has no room for. */
  readonly limited: (limit: OwnLimit) => void;
  /** Orders work from one agent that has begun, where somebody can. */
  readonly order?: (agent: Ordered) => void;
}

/** An agent that work is ordered from. */
export interface Ordered {
  /** Its number in the whole fleet. */
  readonly index: number;
  readonly name: NodeName;
  readonly watch: AgentWatch;
  readonly random: Random;
  readonly timeline: RunTimeline;
}

/** One agent of a fleet: a machine in memory, real HTTP, and what is known of it from outside. */
export interface SimulatedAgent {
  readonly watch: AgentWatch;
  /** Delivers the machine and starts its agent. */
  begin(name: NodeName): void;
  /** Ends the agent and its connections; null-safe before its begin. */
  end(): Promise<void>;
}

/** The agent of a number; it waits until it is begun. */
export function createSimulatedAgent(shared: Shared, index: number): SimulatedAgent {
  const { recorder, profile } = shared;
  // Far apart, so that neighbours have nothing in common.
  const { fraction } = createFakeRandom(
    Math.imul(shared.seed + 1, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b),
  );
  // Keys are real ones: nobody may guess them, and no run repeats those of another.
  const random: Random = { fraction, bytes: createNodeRandom().bytes };
  const drawn = drawNode(profile, random);
  const portalKeys = shared.portalKeys.map(decodeBase64).filter((key) => key !== null);
  const watch = watchAgent({
    name: `agent ${index}`,
    recorder,
    monotonic: shared.clock.monotonic,
  });
  const weather = createWeather({
    profile,
    node: drawn,
    random,
    elapsed: shared.timeline.elapsed,
    durationMs: shared.durationMs,
    happened: recorder.happened,
  });
  let due = shared.clock.monotonic();
  let isSkewed = drawn.skewMs !== 0;
  let current: { readonly version: string; readonly http: FleetHttp } | null = null;
  let node: SimulatedNode | null = null;

  const clock = watchClock(shared.clock, {
    woke(wasDue, at) {
      due = Math.max(due, wasDue);
      recorder.late(at - wasDue);
    },
  });

  /** The client of the running program; what an earlier one left open is closed. */
  function httpOf(version: string): Http {
    current?.http.close();
    const http = createFleetHttp({ ...shared, version });
    current = { version, http };
    return measureHttp({
      http,
      clock: shared.clock,
      recorder,
      watch,
      weather,
      dueSince: () => due,
      ended: (at) => due = at,
      isSkewed: () => isSkewed,
      portalKeys,
      answerWork: shared.keyWork,
    });
  }

  return {
    watch,
    begin(name) {
      due = clock.monotonic();
      node = createNode({
        name,
        portal: inTurn(shared.portals, index),
        portalKeys: shared.portalKeys,
        clock,
        random,
        http: httpOf,
        releaseKeys: shared.releaseKeys,
        version: shared.version,
        keyWork: shared.keyWork,
        cycleMs: shared.cycleMs,
        ...(shared.programs === undefined ? {} : { programs: shared.programs }),
        observe(event) {
          if (event.kind === "killed") current?.http.close();
          if (event.kind === "killed" && event.power !== null) isSkewed = drawn.skewMs !== 0;
          watch.observe(event);
        },
      });
      if (isSkewed) node.skew(drawn.skewMs);
      node.start();
      makeTrouble({
        timeline: shared.timeline,
        random,
        profile,
        factor: drawn.factor,
        node,
        link: weather,
        until: shared.durationMs * profile.faults.until,
        say(what) {
          const kind = kindOf(what);
          if (kind === null) return;
          if (kind === "clock_jump") isSkewed = true;
          recorder.happened(kind);
        },
      });
      shared.order?.({ index, name, watch, random, timeline: shared.timeline });
    },
    async end() {
      await node?.stop();
      current?.http.close();
    },
  };
}

/** What happens to machines, as reports name it; by the words in which it is told. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/^dies .*power cut/, "power_cut"],
  [/^dies /, "kill"],
  [/reboots/, "reboot"],
  [/clock is set/, "clock_jump"],
  [/disk is full/, "disk_full"],
  [/disk fails/, "disk_error"],
  [/Kubernetes API/, "api_down"],
  [/bucket/, "bucket_away"],
  [/cut off/, "partition"],
];

/** Null for the end of something. */
function kindOf(what: string): string | null {
  if (what.startsWith("over: ")) return null;
  return KINDS.find(([words]) => words.test(what))?.[1] ?? "other";
}
