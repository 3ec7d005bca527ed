import type { Profile } from "../profile/profile.ts";
import { createPart, MOST_VIOLATIONS, type Part, type PartEnd, type Violation } from "./part.ts";
import { createThreadPart } from "./part_thread.ts";
import { createTraceHash } from "./trace.ts";

/** What a run in virtual time is. */
export interface VirtualOptions {
  readonly agents: number;
  /** Simulated time, milliseconds. */
  readonly durationMs: number;
  /** A whole number; the same one gives the same run. */
  readonly seed: number;
  readonly profile: Profile;
  /**
   * Threads that share the work, this one alone unless told; what happens does not depend on it. One is
   * enough where a portal's `capacity` lets nodes get in each other's way, or where `endAtFirst` is set.
   */
  readonly threads?: number;
  /** The node whose life is told, from 0; with `print` for each line. */
  readonly trace?: { readonly node: number; readonly print: (line: string) => void };
  /** Hears how far the run is, now and then: simulated milliseconds. */
  readonly onProgress?: (elapsedMs: number) => void;
  /** The run ends with the first broken rule; it goes on to its end unless told. */
  readonly endAtFirst?: boolean;
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

/** How often it is looked whether all have converged, milliseconds. */
const LOOK_MS = 300_000;

/**
 * Runs a fleet in simulated time against the fake portal's rules, deterministic by its seed, and holds it
 * to the rules that must hold whatever goes wrong.
 */
export async function runVirtual(options: VirtualOptions): Promise<VirtualEnd> {
  const { durationMs, profile } = options;
  const faultsEnd = profile.faults.until * durationMs;
  const parts = createParts(options);
  let elapsed = 0;

  /** Whether it is over: a rule broke that ends the run, or, where that is asked, all have converged. */
  async function live(at: number, untilConverged = false): Promise<boolean> {
    const states = await Promise.all(parts.map((part) => part.live(at)));
    elapsed = Math.max(...states.map(({ elapsedMs }) => elapsedMs));
    options.onProgress?.(elapsed);
    return states.some(({ isOver }) => isOver) ||
      untilConverged && states.every(({ hasConverged }) => hasConverged);
  }

  const stretch = durationMs / 20;
  for (let at = stretch; at < faultsEnd; at += stretch) await live(at);
  let isOver = await live(faultsEnd);
  await Promise.all(parts.map((part) => part.settle()));
  while (!isOver && elapsed < durationMs) {
    isOver = await live(Math.min(durationMs, elapsed + LOOK_MS), true);
  }
  const ends = await Promise.all(parts.map((part) => part.end()));
  return { seed: options.seed, elapsedMs: elapsed, ...whole(ends) };
}

/** The nodes in equal shares, each in a thread of its own; only one share stays in this thread. */
function createParts(options: VirtualOptions): readonly Part[] {
  const { agents, durationMs, seed, profile, trace, endAtFirst = false } = options;
  const isOne = profile.portal.capacity !== null || endAtFirst;
  const threads = isOne ? 1 : Math.min(options.threads ?? 1, agents);
  const print = trace?.print ?? (() => {});
  const create = threads === 1 ? createPart : createThreadPart;
  return Array.from({ length: threads }, (_, at) =>
    create({
      from: Math.floor(at * agents / threads),
      to: Math.floor((at + 1) * agents / threads),
      durationMs,
      seed,
      profile,
      traced: trace?.node ?? null,
      endAtFirst,
    }, print));
}

/** What all parts were together, in the order of their nodes. */
function whole(ends: readonly PartEnd[]): Omit<VirtualEnd, "seed" | "elapsedMs"> {
  const hash = createTraceHash();
  const counts: Record<string, number> = {};
  for (const end of ends) {
    for (const one of end.hashes) hash.add(`${one}\n`);
    for (const [what, times] of Object.entries(end.counts)) {
      counts[what] = (counts[what] ?? 0) + times;
    }
  }
  return {
    traceHash: hash.value(),
    violations: ends.flatMap(({ violations }) => violations)
      .toSorted((one, other) => one.at - other.at).slice(0, MOST_VIOLATIONS),
    converged: ends.reduce((sum, { converged }) => sum + converged, 0),
    counts,
  };
}
