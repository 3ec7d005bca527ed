import type { Profile } from "../profile/profile.ts";
import type { Violation } from "./home.ts";
import { livePart, MOST_VIOLATIONS, type PartEnd, type PartOptions } from "./part.ts";
import { livePartInThread } from "./part_thread.ts";
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
  /** Hears how far the run is, now and then: from 0 to 1. */
  readonly onProgress?: (share: number) => void;
  /** The run ends with the first rule that is seen broken; it goes on to its end unless told. */
  readonly endAtFirst?: boolean;
}

/** How a run ended. */
export interface VirtualEnd {
  readonly seed: number;
  /** The same for two runs in which the same happened. */
  readonly traceHash: string;
  readonly violations: readonly Violation[];
  readonly converged: number;
  /** How long the last node lived, milliseconds of simulated time: it ends once it has converged. */
  readonly elapsedMs: number;
  /** What was counted: events of the queue, requests, cycles, faults, operations by result. */
  readonly counts: Readonly<Record<string, number>>;
}

/**
 * Runs a fleet in simulated time against the fake portal's rules, deterministic by its seed, and holds it
 * to the rules that must hold whatever goes wrong. A node lives until it has converged after the faults'
 * end, or to the end of the run.
 */
export async function runVirtual(options: VirtualOptions): Promise<VirtualEnd> {
  const { agents, durationMs, trace, onProgress } = options;
  const parts = shares(options);
  const live = parts.length === 1 ? livePart : livePartInThread;
  const lived = parts.map(() => 0);
  const ends = await Promise.all(parts.map((part, at) =>
    live(part, {
      line: trace?.print ?? (() => {}),
      lived(nodeMs) {
        lived[at] = nodeMs;
        onProgress?.(lived.reduce((sum, one) => sum + one) / (agents * durationMs));
      },
    })
  ));
  return { seed: options.seed, ...whole(ends) };
}

/** The nodes in equal shares, one for each thread. */
function shares(options: VirtualOptions): readonly PartOptions[] {
  const { agents, durationMs, seed, profile, trace, endAtFirst = false } = options;
  const isOne = profile.portal.capacity !== null || endAtFirst;
  const threads = isOne ? 1 : Math.min(options.threads ?? 1, agents);
  return Array.from({ length: threads }, (_, at) => ({
    from: Math.floor(at * agents / threads),
    to: Math.floor((at + 1) * agents / threads),
    durationMs,
    seed,
    profile,
    traced: trace?.node ?? null,
    endAtFirst,
  }));
}

/** What all parts were together, in the order of their nodes. */
function whole(ends: readonly PartEnd[]): Omit<VirtualEnd, "seed"> {
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
    elapsedMs: Math.max(...ends.map((end) => end.elapsedMs)),
    counts,
  };
}
