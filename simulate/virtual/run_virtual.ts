import { createNativeSealing } from "../../adapters/native_sealing.ts";
import { createFakeRandom } from "../../adapters/fake/random.ts";
import { signingPublicKey } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";
import type { Profile } from "../profile/profile.ts";
import { createCatalogue } from "./catalogue.ts";
import { createCheapSigning } from "./cheap_signing.ts";
import { createFront } from "./front.ts";
import { createTimeline } from "./timeline.ts";
import { createTraceHash, describeTime } from "./trace.ts";
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
 * to the rules that must hold whatever goes wrong.
 */
export async function runVirtual(options: VirtualOptions): Promise<VirtualEnd> {
  const { agents, durationMs, seed, profile, endAtFirst = false } = options;
  const timeline = createTimeline(START);
  const catalogue = createCatalogue();
  const random = createFakeRandom(seed);
  const releaseKeys = [new Secret(random.bytes(32)), new Secret(random.bytes(32))] as const;
  const publicKeys = releaseKeys.map(signingPublicKey);
  const signing = createCheapSigning();
  const sealing = createNativeSealing();
  const front = createFront(profile, timeline, durationMs);
  const hash = createTraceHash();
  const violations: Violation[] = [];
  const counts: Record<string, number> = {};
  const faultsEnd = profile.faults.until * durationMs;

  function count(what: string): void {
    counts[what] = (counts[what] ?? 0) + 1;
  }

  function tell(node: number, what: string): void {
    hash.add(`${timeline.elapsed()} ${node} ${what}\n`);
    if (options.trace?.node === node) {
      options.trace.print(`${describeTime(timeline.elapsed())}  ${what}`);
    }
  }

  function broken(node: number, rule: string, how: string): void {
    tell(node, `BROKEN    ${rule}: ${how}`);
    if (violations.length < MOST_VIOLATIONS) {
      violations.push({ rule, node, at: timeline.elapsed(), how });
    }
  }

  const isOver = () => endAtFirst && violations.length > 0;
  const nodes: VirtualNode[] = Array.from({ length: agents }, (_, index) =>
    createVirtualNode({
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
      tell: (what) => tell(index, what),
      broken: (rule, how) => broken(index, rule, how),
      count,
    }));
  for (const node of nodes) timeline.after(RAMP_MS * node.random.fraction(), node.start);

  const quarter = durationMs / 20;
  for (let at = quarter; at < faultsEnd; at += quarter) {
    await timeline.run(at, isOver);
    options.onProgress?.(timeline.elapsed());
  }
  await timeline.run(faultsEnd, isOver);
  for (const node of nodes) node.settle();
  while (!isOver() && timeline.elapsed() < durationMs) {
    await timeline.run(Math.min(durationMs, timeline.elapsed() + LOOK_MS), isOver);
    options.onProgress?.(timeline.elapsed());
    if (nodes.every((node) => node.lacks().length === 0)) break;
  }

  let converged = 0;
  for (const [index, node] of nodes.entries()) {
    if (isOver()) break;
    const lacks = node.lacks();
    if (lacks.length === 0) converged += 1;
    else broken(index, "converges", lacks.join("; "));
    for (const left of lacks.length === 0 ? node.left() : []) {
      broken(index, "leaves_nothing_behind", left);
    }
  }
  return {
    seed,
    traceHash: hash.value(),
    violations,
    converged,
    elapsedMs: timeline.elapsed(),
    counts: { ...counts, events: timeline.events() },
  };
}
