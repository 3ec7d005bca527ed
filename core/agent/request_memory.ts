import { FRESH_MEMORY, type Memory } from "../protocol/reaction.ts";

/** What is remembered about requests since the agent's start, bounded in size. */
export interface RequestMemory {
  /** The memory of the request that `key` names. */
  of(key: string): Memory;
  remember(key: string, memory: Memory): void;
  /**
   * The second to sign a request with: `wanted`, or the one after the last that was signed for the same
   * method, path and body, so that the same bytes are never signed twice (protocol §1).
   */
  secondFor(key: string, wanted: number): number;
}

/** Far more than one agent has in flight; a bound, so that nothing a portal does makes it grow. */
const MAX_KEYS = 200;

/** An empty memory. */
export function openRequestMemory(): RequestMemory {
  const memories = new Map<string, Memory>();
  const seconds = new Map<string, number>();
  return {
    of: (key) => memories.get(key) ?? FRESH_MEMORY,
    remember(key, memory) {
      put(memories, key, memory);
      if (memory === FRESH_MEMORY) memories.delete(key);
    },
    secondFor(key, wanted) {
      const last = seconds.get(key);
      const second = last !== undefined && last >= wanted ? last + 1 : wanted;
      put(seconds, key, second);
      return second;
    },
  };
}

/** Sets an entry as the youngest and drops the oldest beyond the bound. */
function put<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MAX_KEYS) map.delete(map.keys().next().value ?? key);
}
