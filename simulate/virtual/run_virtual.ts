import { createNativeSealing } from "../../adapters/native_sealing.ts";
import { createFakeRandom } from "../../adapters/fake/random.ts";
import { signingPublicKey } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";
import type { Profile } from "../profile/profile.ts";
import { createCatalogue } from "./catalogue.ts";
import { createCheapSigning } from "./cheap_signing.ts";
import { createFront, type Front } from "./front.ts";
import { createTimeline, type Timeline } from "./timeline.ts";
import { createTraceHash, describeTime, type TraceHash } from "./trace.ts";
import { createVirtualNode, type VirtualNode } from "./virtual_node.ts";

/** What a run in virtual time is. */
export interface VirtualOptions {
  readonly agents: number;
  /** Simulated time, milliseconds. */
  readonly durationMs: number;
  /** A whole number; the same one gives the same run. */
  readonly seed: number;
  readonly profile: Profile;
  /** The node whose life is told, from 0; with `print` for each line. */
  readonly trace?: { readonly node: number; readonly print: (line: string) => void };
  /** Hears how far the run is, now and then: simulated milliseconds. */
  readonly onProgress?: (elapsedMs: number) => void;
  /** The run ends with the first broken rule; it goes on to its end unless told. */
  readonly endAtFirst?: boolean;
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

/** How a run ended. */
export interface VirtualEnd {
  readonly seed: number;
  /** The same for two runs in which the same happened. */
  readonly traceHash: string;
  readonly violations: readonly Violation[];
  readonly converged: number;
  /** Simulated time that passed, milliseconds. */
  readonly elapsedMs: number;
  /** What was counted: events of the queue, requests, cycles, faults, operations by result. */
  readonly counts: Readonly<Record<string, number>>;
}

/** The moment at which every run begins: a Thursday noon. */
const START = Date.UTC(2026, 0, 1, 12);
/** Agents begin within this time, milliseconds. */
const RAMP_MS = 60_000;
/** How often it is looked whether all have converged, milliseconds. */
const LOOK_MS = 300_000;
const MOST_VIOLATIONS = 50;

/**
 * Runs a fleet in simulated time against the fake portal's rules, deterministic by its seed, and holds it
 * to the rules that must hold whatever goes wrong. Nodes know nothing of each other, so each lives a part
 * of the run by itself before the next one does: what it works on stays in the processor's caches.
 */
export async function runVirtual(options: VirtualOptions): Promise<VirtualEnd> {
  const { agents, durationMs, seed, profile, endAtFirst = false } = options;
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
      if (options.trace?.node === index) {
        options.trace.print(`${describeTime(timeline.elapsed())}  ${what}`);
      }
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
  const lives = Array.from({ length: agents }, (_, index) => createLife(index));
  const timelines = [...new Set(lives.map(({ timeline }) => timeline))];
  let elapsed = 0;

  async function runUntil(at: number): Promise<void> {
    for (const timeline of timelines) await timeline.run(at, isOver);
    elapsed = Math.max(...timelines.map((timeline) => timeline.elapsed()));
    options.onProgress?.(elapsed);
  }

  const part = durationMs / 20;
  for (let at = part; at < faultsEnd; at += part) await runUntil(at);
  await runUntil(faultsEnd);
  for (const { node } of lives) node.settle();
  while (!isOver() && elapsed < durationMs) {
    await runUntil(Math.min(durationMs, elapsed + LOOK_MS));
    if (lives.every(({ node }) => node.lacks().length === 0)) break;
  }

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
  const whole = createTraceHash();
  for (const { hash } of lives) whole.add(`${hash.value()}\n`);
  return {
    seed,
    traceHash: whole.value(),
    violations: violations.toSorted((one, other) => one.at - other.at),
    converged,
    elapsedMs: elapsed,
    counts: {
      ...counts,
      events: timelines.reduce((sum, timeline) => sum + timeline.events(), 0),
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
