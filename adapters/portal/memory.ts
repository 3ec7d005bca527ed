import type { Fault } from "./faults.ts";
import type { Answer } from "./http/message.ts";
import { createLookup, type Lookup } from "./lookup.ts";
import type { PortalState } from "./state.ts";

/** What the portal remembers while it runs, for people and tests to look at. */
export interface Memory {
  /** The last requests, oldest first. */
  readonly requests: RequestRecord[];
  /** Rules of the protocol that a client broke, oldest first. */
  readonly breaches: Breach[];
  /** Signatures seen, and when. */
  readonly replays: Map<string, number>;
  /** The last proven answer of 200 by endpoint, for a fault that sends it again. */
  readonly proven: Map<string, Answer>;
  faults: Fault[];
  /** Made when it is first needed; see {@link lookupIn}. */
  lookup?: Lookup;
}

/** One request, without its body and without anything secret. */
export interface RequestRecord {
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  /** The error's code where the answer is a refusal. */
  readonly code: string | null;
  /** As the request says, whether it is true or not. */
  readonly agent: string | null;
  readonly bytes: number;
  /** SHA-256 of an enrollment's token. */
  readonly token_sha256?: string;
  /** The fault that had a hand in it. */
  readonly fault?: string;
}

/** A rule that was broken. */
export interface Breach {
  readonly at: string;
  readonly rule: string;
  readonly message: string;
  readonly path: string;
  readonly agent: string | null;
}

const KEPT = 1000;

/** An empty memory. */
export function createMemory(): Memory {
  return { requests: [], breaches: [], replays: new Map(), proven: new Map(), faults: [] };
}

/** The lookup of this portal's state. */
export function lookupIn({ state, memory }: {
  readonly state: PortalState;
  readonly memory: Memory;
}): Lookup {
  return memory.lookup ??= createLookup(state);
}

/** Adds to a list and drops what is older than the last thousand. */
export function remember<T>(list: T[], entry: T): void {
  list.push(entry);
  if (list.length > KEPT) list.splice(0, list.length - KEPT);
}
