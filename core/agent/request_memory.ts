import { FRESH_MEMORY, type Memory } from "../protocol/reaction.ts";

/** What is remembered about requests since the agent's start, bounded in size. */
export interface RequestMemory {
  /** The memory of the request that `key` names. */
  of(key: string): Memory;
  remember(key: string, memory: Memory): void;
  /**
   * The second to sign a request with: `wanted`, or the next one that was not signed yet for the same
   * method, path and body, so that the same bytes are never signed twice (protocol §1). A clock that was
   * set back is followed: what was signed with a later time does not hold it there. `where`: method and
   * path; `digest`: the body's.
   */
  secondFor(where: string, digest: string, wanted: number): number;
  /**
   * How long the second in which the program started still lasts, milliseconds: a process that was killed
   * just before may have signed the same bytes in it. `now`: corrected clock, milliseconds.
   */
  untilOwnSecond(now: number): number;
  /** Requests of this kind are taken from the agent of `release` only (426); null: not any more. */
  demand(kind: string, release: string | null): void;
  /** The channels whose last answer under 500 was not proven. */
  readonly unproven: Set<string>;
  /** The release whose agent the portal demands, the sync's before any other's; null: none. */
  demanded(): string | null;
}

/** Far more requests than one agent has in flight; a bound, so that nothing a portal does makes it grow. */
const LEAST_KEYS = 100;

/** So many paths are remembered at least, and so many of the last bodies sent to each: four minutes of syncs. */
const LEAST_PATHS = 32;
const LEAST_BODIES = 8;

/** Most seconds remembered for one request: hours of the longest backoff, far beyond any replay memory. */
const MAX_SECONDS = 64;

/** An empty memory. `startedIn`: the second in which the program started. */
export function openRequestMemory(startedIn?: number): RequestMemory {
  const memories = openRecent<Memory>(LEAST_KEYS);
  /** By method and path, then by body: with which seconds. */
  const signed = openRecent<Recent<readonly number[]>>(LEAST_PATHS);
  const demands = new Map<string, string>();
  return {
    of: (key) => memories.get(key) ?? FRESH_MEMORY,
    remember(key, memory) {
      if (memory === FRESH_MEMORY) memories.delete(key);
      else memories.set(key, memory);
    },
    secondFor(where, digest, wanted) {
      const bodies = signed.get(where) ?? openRecent(LEAST_BODIES);
      signed.set(where, bodies);
      const used = bodies.get(digest) ?? [];
      let second = wanted;
      while (used.includes(second)) second++;
      bodies.set(digest, [...used.slice(1 - MAX_SECONDS), second]);
      return second;
    },
    untilOwnSecond: (now) => Math.floor(now / 1000) === startedIn ? 1000 - now % 1000 : 0,
    demand(kind, release) {
      demands.delete(kind);
      if (release !== null) demands.set(kind, release);
    },
    unproven: new Set(),
    demanded: () => demands.get("sync") ?? [...demands.values()].at(-1) ?? null,
  };
}

/** What was set last. */
interface Recent<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  delete(key: string): void;
}

/**
 * A map of at least the `least` last entries that were set and at most twice as many. It forgets half of
 * them at once: a map from which the oldest goes with every new one spends most of its time on the holes
 * that this leaves.
 */
function openRecent<T>(least: number): Recent<T> {
  let young = new Map<string, T>();
  let old = new Map<string, T>();
  return {
    get: (key) => young.get(key) ?? old.get(key),
    set(key, value) {
      young.set(key, value);
      if (young.size < least) return;
      old = young;
      young = new Map();
    },
    delete(key) {
      young.delete(key);
      old.delete(key);
    },
  };
}
