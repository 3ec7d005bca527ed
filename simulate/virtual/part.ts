import { createFakeRandom } from "../../adapters/fake/random.ts";
import { createNativeSealing } from "../../adapters/native_sealing.ts";
import { signingPublicKey } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";
import type { Profile } from "../profile/profile.ts";
import { createCatalogue } from "./catalogue.ts";
import { createCheapSigning } from "./cheap_signing.ts";
import { createFront, type Front } from "./front.ts";
import { createTimeline, runTimelines, type Timeline } from "./timeline.ts";
import { createTraceHash, describeTime, type TraceHash } from "./trace.ts";
import { createVirtualNode, type VirtualNode } from "./virtual_node.ts";

/** Some nodes of a run. All of it can be sent to another thread. */
export interface PartOptions {
  /** The index of the first node. */
  readonly from: number;
  /** The index after that of the last one. */
  readonly to: number;
  /** Simulated time, milliseconds. */
  readonly durationMs: number;
  readonly seed: number;
  readonly profile: Profile;
  /** The node whose life is told; null or another part's: nobody's. */
  readonly traced: number | null;
  /** The part ends with its first broken rule. */
  readonly endAtFirst: boolean;
}

/** A rule that did not hold. */
export interface Violation {
  /** The rule's name, such as `destroys_once`. */
  readonly rule: string;
  readonly node: number;
  /** Simulated time, milliseconds since the beginning. */
  readonly at: number;
  readonly how: string;
}

/** How far a part is. */
export interface PartState {
  /** Simulated time, milliseconds since the beginning. */
  readonly elapsedMs: number;
  /** It ended with a broken rule. */
  readonly isOver: boolean;
  readonly hasConverged: boolean;
}

/** How a part ended. */
export interface PartEnd {
  /** Of each node, all that happened to it. */
  readonly hashes: readonly string[];
  /** In the order in which they were seen, the first ones of too many. */
  readonly violations: readonly Violation[];
  readonly converged: number;
  /** What was counted: events, requests, cycles, faults, operations by result. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Some nodes of a run, in this thread or in another one. One call at a time. */
export interface Part {
  /** The nodes live until `at`, milliseconds since the beginning. */
  live(at: number): Promise<PartState>;
  /** Faults are over: nothing new is asked of the nodes. */
  settle(): Promise<void>;
  /** The last look at all of them. */
  end(): Promise<PartEnd>;
}

/** The moment at which every run begins: a Thursday noon. */
const START = Date.UTC(2026, 0, 1, 12);
/** Agents begin within this time, milliseconds. */
const RAMP_MS = 60_000;
/** More than anybody reads. */
export const MOST_VIOLATIONS = 50;
/** So many nodes live at once: with more, their data crowds each other out of the processor's caches. */
const TOGETHER = 16;

/**
 * Nodes that have not begun yet, in this thread. `print` hears the traced node's life. Nodes know nothing
 * of each other, so a few of them live a stretch of the run before the next few do.
 */
export function createPart(options: PartOptions, print: (line: string) => void): Part {
  const { from, to, durationMs, seed, profile, traced, endAtFirst } = options;
  const catalogue = createCatalogue();
  const random = createFakeRandom(seed);
  const releaseKeys = [new Secret(random.bytes(32)), new Secret(random.bytes(32))] as const;
  const publicKeys = releaseKeys.map(signingPublicKey);
  const signing = createCheapSigning();
  const sealing = createNativeSealing();
  const violations: Violation[] = [];
  const counts: Record<string, number> = {};
  const faultsEnd = profile.faults.until * durationMs;

  function count(what: string): void {
    counts[what] = (counts[what] ?? 0) + 1;
  }

  function createPlace(): Place {
    const timeline = createTimeline(START);
    return { timeline, front: createFront(profile, timeline, durationMs) };
  }

  // Where a portal has only so much capacity, what one node sends is felt by all.
  const common = profile.portal.capacity === null ? null : createPlace();

  function createLife(index: number): Life {
    const { timeline, front } = common ?? createPlace();
    const hash = createTraceHash();

    function tell(what: string): void {
      hash.add(`${timeline.elapsed()} ${what}\n`);
      if (traced === index) print(`${describeTime(timeline.elapsed())}  ${what}`);
    }

    function broken(rule: string, how: string): void {
      tell(`BROKEN    ${rule}: ${how}`);
      if (violations.length < MOST_VIOLATIONS) {
        violations.push({ rule, node: index, at: timeline.elapsed(), how });
      }
    }

    const node = createVirtualNode({
      index,
      seed,
      profile,
      timeline,
      catalogue,
      front,
      releaseKeys,
      publicKeys,
      signing,
      sealing,
      faultsEnd,
      tell,
      broken,
      count,
    });
    timeline.after(RAMP_MS * node.random.fraction(), node.start);
    return { timeline, node, broken, hash };
  }

  const isOver = () => endAtFirst && violations.length > 0;
  const lives = Array.from({ length: to - from }, (_, at) => createLife(from + at));
  const timelines = [...new Set(lives.map(({ timeline }) => timeline))];

  return {
    async live(at) {
      for (let first = 0; first < timelines.length; first += TOGETHER) {
        await runTimelines(timelines.slice(first, first + TOGETHER), at, isOver);
      }
      return {
        elapsedMs: Math.max(...timelines.map((timeline) => timeline.elapsed())),
        isOver: isOver(),
        hasConverged: lives.every(({ node }) => node.lacks().length === 0),
      };
    },
    settle() {
      for (const { node } of lives) node.settle();
      return Promise.resolve();
    },
    end() {
      let converged = 0;
      for (const { node, broken } of lives) {
        if (isOver()) break;
        const lacks = node.lacks();
        if (lacks.length === 0) converged += 1;
        else broken("converges", lacks.join("; "));
        for (const left of lacks.length === 0 ? node.left() : []) {
          broken("leaves_nothing_behind", left);
        }
      }
      const events = timelines.reduce((sum, timeline) => sum + timeline.events(), 0);
      return Promise.resolve({
        hashes: lives.map(({ hash }) => hash.value()),
        violations,
        converged,
        counts: { ...counts, events },
      });
    },
  };
}

/** Where a node lives: the time, and what stands before its portal. */
interface Place {
  readonly timeline: Timeline;
  readonly front: Front;
}

/** One node of a run. */
interface Life {
  readonly timeline: Timeline;
  readonly node: VirtualNode;
  readonly broken: (rule: string, how: string) => void;
  /** Of all that happened to it. */
  readonly hash: TraceHash;
}
