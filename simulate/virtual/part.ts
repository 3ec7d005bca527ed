import { createHomes, type Home, type HomeOptions, type Violation } from "./home.ts";
import { runTimelines } from "./timeline.ts";

/** Some nodes of a run. All of it can be sent to another thread. */
export interface PartOptions extends HomeOptions {
  /** The index of the first node. */
  readonly from: number;
  /** The index after that of the last one. */
  readonly to: number;
  /** The part ends with the first rule that it sees broken. */
  readonly endAtFirst: boolean;
}

/** Hears of a part while it lives. */
export interface PartListener {
  /** A line of the traced node's life. */
  line(text: string): void;
  /** How much is done: simulated time, of all its nodes together; milliseconds. */
  lived(nodeMs: number): void;
}

/** How a part ended. */
export interface PartEnd {
  /** Of each node, all that happened to it. */
  readonly hashes: readonly string[];
  /** The first ones of too many. */
  readonly violations: readonly Violation[];
  readonly converged: number;
  /** How long the last node lived, milliseconds of simulated time. */
  readonly elapsedMs: number;
  /** What was counted: events, requests, cycles, faults, operations by result. */
  readonly counts: Readonly<Record<string, number>>;
}

/** More than anybody reads. */
export const MOST_VIOLATIONS = 50;

/** How often it is looked whether all of a home have converged, milliseconds. */
const LOOK_MS = 300_000;
/** So many looks in a row have to find it: what comes and goes is not converged. */
const LOOKS = 2;
/** So many nodes live at once: with more, their data crowds each other out of the processor's caches. */
const TOGETHER = 8;

/**
 * Lives some nodes in this thread. Nodes know nothing of each other, so a few of them live from beginning
 * to end before the next few begin, and no others are in memory.
 */
export async function livePart(options: PartOptions, listener: PartListener): Promise<PartEnd> {
  const { from, to, durationMs, endAtFirst } = options;
  const violations: Violation[] = [];
  const counts: Record<string, number> = {};
  const createHome = createHomes(options, {
    line: listener.line,
    broken(violation) {
      if (violations.length < MOST_VIOLATIONS) violations.push(violation);
    },
    count(what) {
      counts[what] = (counts[what] ?? 0) + 1;
    },
  });
  const isOver = () => endAtFirst && violations.length > 0;
  const hashes: string[] = [];
  let [converged, elapsedMs, events] = [0, 0, 0];

  const groups = groupsOf(options);
  for (const group of groups) {
    if (isOver()) break;
    const homes = group.map(createHome);
    const [first = from] = group.flat();
    await liveIn(homes, options, isOver, (ms) => {
      listener.lived((first - from) * durationMs + ms * group.flat().length);
    });
    for (const home of homes) {
      if (!isOver()) converged += home.judge();
      hashes.push(...home.hashes());
      elapsedMs = Math.max(elapsedMs, home.timeline.elapsed());
      events += home.timeline.events();
    }
  }
  listener.lived((to - from) * durationMs);
  return { hashes, violations, converged, elapsedMs, counts: { ...counts, events } };
}

/** The nodes of each home, and the homes that live at once. */
function groupsOf({ from, to, profile }: PartOptions): readonly (readonly (readonly number[])[])[] {
  const nodes = Array.from({ length: to - from }, (_, at) => from + at);
  // Where a portal has only so much capacity, what one node sends is felt by all.
  if (profile.portal.capacity !== null) return [[nodes]];
  const homes = nodes.map((node) => [node]);
  return Array.from(
    { length: Math.ceil(homes.length / TOGETHER) },
    (_, at) => homes.slice(at * TOGETHER, (at + 1) * TOGETHER),
  );
}

/** From the beginning to the end, or until it is over. `lived`: so far all of them are. */
async function liveIn(
  homes: readonly Home[],
  { durationMs, profile }: PartOptions,
  isOver: () => boolean,
  lived: (ms: number) => void,
): Promise<void> {
  const faultsEnd = profile.faults.until * durationMs;
  const timelines = homes.map(({ timeline }) => timeline);
  for (let at = 0; at < faultsEnd;) {
    at = Math.min(faultsEnd, at + durationMs / 20);
    await runTimelines(timelines, at, isOver);
    lived(at);
  }
  for (const home of homes) home.settle();
  let open = homes.map((home) => ({ home, looks: 0 }));
  for (let at = faultsEnd; at < durationMs && open.length > 0 && !isOver();) {
    at = Math.min(durationMs, at + LOOK_MS);
    await runTimelines(open.map(({ home }) => home.timeline), at, isOver);
    lived(at);
    open = open.map(({ home, looks }) => ({ home, looks: home.hasConverged() ? looks + 1 : 0 }))
      .filter(({ looks }) => looks < LOOKS);
  }
}
