import {
  COARSE_BITS,
  FINE_BITS,
  type Histogram,
  openRecording,
  type Recording,
} from "./histogram.ts";
import type {
  AgentState,
  Endpoint,
  Report,
  ReportEndpoint,
  ReportOperation,
  ReportSlice,
} from "./report.ts";
import { summaryOf } from "./summary.ts";

/** A request of an agent that has ended. Times are milliseconds; only differences count. */
export interface Sample {
  readonly endpoint: Endpoint;
  /** When the agent was to send it, when it did, and when the last byte of the answer was there. */
  readonly due: number;
  readonly sent: number;
  readonly ended: number;
  /** `code`: the portal's or the transport's. `provoked`: the profile wanted it so. */
  readonly outcome: { readonly kind: "success" } | {
    readonly kind: "error" | "provoked";
    readonly code: string;
  };
}

/** What is going on, for people who watch. */
export interface Look {
  readonly states: ReadonlyMap<AgentState, number>;
  readonly requests: number;
  readonly errors: ReadonlyMap<string, number>;
  readonly provoked: number;
  /** Response times of syncs so far, microseconds. */
  sync(): Histogram;
}

/** Collects what happens to the agents of one process. */
export interface Recorder {
  request(sample: Sample): void;
  /** An agent changes its state; the first time from null. */
  move(from: AgentState | null, to: AgentState): void;
  enrolled(): void;
  operationBegan(kind: string): void;
  /** With its result's state; `ms` since it began, where the beginning was seen. */
  operationEnded(kind: string, state: string, ms: number | null): void;
  happened(what: string): void;
  /** A timer of an agent went off so many milliseconds late. */
  late(ms: number): void;
  fault(agent: string, message: string): void;
  look(): Look;
  /** Ends the last slice and gives what a report says of all this. What comes later is not counted. */
  finish(): Recorded;
}

/** The parts of a report that come from the recorder. */
export type Recorded =
  & Pick<
    Report,
    "endpoints" | "errors" | "provoked" | "operations" | "happenings" | "slices" | "faults"
  >
  & {
    readonly started: number;
    readonly enrolled: number;
    readonly states: Report["agents"]["states"];
    readonly lateness: Histogram;
  };

/** Of a thousand agents with the same fault the first ones say enough. */
const MOST_FAULTS = 20;

/**
 * @param now wall clock, milliseconds since the epoch; never goes back
 * @param warmupMs how long times are recorded in the slices alone: counts are whole from the beginning
 */
export function openRecorder(now: () => number, sliceMs: number, warmupMs = 0): Recorder {
  const judgedFrom = now() + warmupMs;
  const states = new Map<AgentState, number>();
  const endpoints = new Map<Endpoint, OpenEndpoint>();
  const errors = new Map<string, number>();
  const provoked = new Map<string, number>();
  const operations = new Map<string, OpenOperation>();
  const happenings = new Map<string, number>();
  const slices: ReportSlice[] = [];
  const faults: { agent: string; message: string }[] = [];
  const lateness = openRecording(FINE_BITS);
  let slice: OpenSlice | null = null;
  let requests = 0;
  let provokedRequests = 0;
  let started = 0;
  let enrolled = 0;
  let isOver = false;

  /** The slice of this moment; what ended before it is closed with the states as they are still. */
  function current(): OpenSlice {
    const at = Math.floor(now() / sliceMs) * sliceMs;
    slice ??= openSlice(at);
    while (slice.at < at) {
      slices.push(closeSlice(slice, states));
      slice = openSlice(slice.at + sliceMs);
    }
    return slice;
  }

  return {
    request({ endpoint, due, sent, ended, outcome }) {
      if (isOver) return;
      const inSlice = current();
      const figures = entry(endpoints, endpoint, openEndpoint);
      requests += 1;
      figures.requests += 1;
      add(inSlice.requests, endpoint);
      if (outcome.kind === "success") figures.succeeded += 1;
      else if (outcome.kind === "error") {
        figures.errors += 1;
        add(errors, outcome.code);
        add(inSlice.errors, outcome.code);
      } else {
        provokedRequests += 1;
        figures.provoked += 1;
        add(provoked, outcome.code);
        add(inSlice.provoked, outcome.code);
      }
      // What the profile did to a request says nothing about the portal.
      if (outcome.kind === "provoked") return;
      const response = (ended - Math.min(due, sent)) * 1000;
      if (endpoint === "sync") inSlice.sync.record(response);
      if (now() < judgedFrom) return;
      figures.response.record(response);
      figures.service.record((ended - sent) * 1000);
    },
    move(from, to) {
      if (isOver) return;
      current();
      if (from !== null) states.set(from, (states.get(from) ?? 0) - 1);
      if (from === "waiting") started += 1;
      add(states, to);
    },
    enrolled: () => void (enrolled += 1),
    operationBegan: (kind) => void (entry(operations, kind, openOperation).begun += 1),
    operationEnded(kind, state, ms) {
      const figures = entry(operations, kind, openOperation);
      add(figures.results, state);
      if (ms !== null) figures.duration.record(ms);
    },
    happened: (what) => add(happenings, what),
    late(ms) {
      if (!isOver && now() >= judgedFrom) lateness.record(ms * 1000);
    },
    fault: (agent, message) =>
      void (faults.length < MOST_FAULTS && faults.push({ agent, message })),
    look: () => ({
      states,
      requests,
      errors,
      provoked: provokedRequests,
      sync: () => entry(endpoints, "sync", openEndpoint).response.snapshot(),
    }),
    finish() {
      slices.push(closeSlice(current(), states));
      isOver = true;
      return {
        started,
        enrolled,
        states: present(states),
        endpoints: mapValues(endpoints, closeEndpoint),
        errors: Object.fromEntries(errors),
        provoked: Object.fromEntries(provoked),
        operations: Object.fromEntries(
          [...operations].map(([kind, figures]) => [kind, closeOperation(figures)]),
        ),
        happenings: Object.fromEntries(happenings),
        slices,
        lateness: lateness.snapshot(),
        faults,
      };
    },
  };
}

interface OpenEndpoint {
  requests: number;
  succeeded: number;
  errors: number;
  provoked: number;
  readonly response: Recording;
  readonly service: Recording;
}

function openEndpoint(): OpenEndpoint {
  return {
    requests: 0,
    succeeded: 0,
    errors: 0,
    provoked: 0,
    response: openRecording(FINE_BITS),
    service: openRecording(FINE_BITS),
  };
}

function closeEndpoint({ response, service, ...counts }: OpenEndpoint): ReportEndpoint {
  const whole = mutable(response);
  return { ...counts, response: whole, response_ms: summaryOf(whole), service: mutable(service) };
}

interface OpenOperation {
  begun: number;
  readonly results: Map<string, number>;
  readonly duration: Recording;
}

function openOperation(): OpenOperation {
  return { begun: 0, results: new Map(), duration: openRecording(FINE_BITS) };
}

function closeOperation({ begun, results, duration }: OpenOperation): ReportOperation {
  return { begun, results: Object.fromEntries(results), duration_ms: mutable(duration) };
}

interface OpenSlice {
  readonly at: number;
  readonly requests: Map<Endpoint, number>;
  readonly errors: Map<string, number>;
  readonly provoked: Map<string, number>;
  readonly sync: Recording;
}

function openSlice(at: number): OpenSlice {
  return {
    at,
    requests: new Map(),
    errors: new Map(),
    provoked: new Map(),
    sync: openRecording(COARSE_BITS),
  };
}

function closeSlice(slice: OpenSlice, states: ReadonlyMap<AgentState, number>): ReportSlice {
  return {
    at_ms: slice.at,
    requests: mapValues(slice.requests, (count) => count),
    errors: Object.fromEntries(slice.errors),
    provoked: Object.fromEntries(slice.provoked),
    sync: mutable(slice.sync),
    states: present(states),
  };
}

function present(states: ReadonlyMap<AgentState, number>): Report["agents"]["states"] {
  return Object.fromEntries([...states].filter(([, count]) => count > 0));
}

function mutable(recording: Recording): ReportEndpoint["response"] {
  const snapshot = recording.snapshot();
  return { ...snapshot, buckets: snapshot.buckets.map(([bucket, count]) => [bucket, count]) };
}

function mapValues<K extends string, V, W>(
  map: ReadonlyMap<K, V>,
  change: (value: V) => W,
): Partial<Record<K, W>> {
  const entries = [...map].map(([key, value]) => [key, change(value)] as const);
  return Object.fromEntries(entries) as Partial<Record<K, W>>;
}

function add<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, value = make());
  return value;
}
