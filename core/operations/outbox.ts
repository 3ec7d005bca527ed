import type { EventsRequest, OperationEvent, OperationResult } from "../protocol/operation.ts";
import type { Finished, Journal } from "../state/journal.ts";
import type { State } from "../state/state.ts";
import { mayForget, sinceOf, type Witnesses } from "../state/witnesses.ts";

/**
 * More IDs than a month of work leaves. Beyond it new operations are refused (`history_full`), so that no
 * portal can make the file grow, and no number of operations makes an ID run twice (protocol §5).
 */
export const MAX_REMEMBERED = 10_000;
/** Logs and outputs of the newest results that are kept whole, bytes together. */
const MAX_WHOLE_BYTES = 1_000_000;
/** Events in one request, bytes: any number of them is sent in time. */
const MAX_EVENTS_BYTES = 60_000;
/** What a result may take of a request's body, bytes; its log is shortened from the oldest line. */
const MAX_RESULT_BYTES = 150_000;

/** The state with `journal` under way, and its result kept where it has one. */
export function withJournal(state: State, journal: Journal, witnesses: Witnesses): State {
  const before = state.operation?.id === journal.id ? state.operation.result : undefined;
  if (journal.result === undefined || before !== undefined) return { ...state, operation: journal };
  return {
    ...state,
    operation: journal,
    finished: withFinished(state.finished, journal, witnesses),
    clock: { ...state.clock, lived_ms: Math.max(state.clock.lived_ms, witnesses.livedMs) },
  };
}

/** The next body to send for a journal; null where nothing is owed now. */
export function eventsRequest(journal: Journal): EventsRequest | null {
  const { result } = journal;
  if (journal.result_alone === true && result !== undefined) {
    const { log_tail: _log, output: _output, ...alone } = result;
    return { events: [], result: alone };
  }
  const events = firstThatFit(journal.events);
  const last = events.length === journal.events.length;
  if (result === undefined || !last) return events.length === 0 ? null : { events };
  return { events, result: shortened(result) };
}

/** Whether the portal has still to hear of something. */
export function isOwed(journal: Journal): boolean {
  return journal.result !== undefined || journal.events.length > 0;
}

/**
 * The journal after the portal answered to `sent`; null when nothing is left to say. What it has not
 * taken (a seq above `acked`) is sent again, and the result with it.
 */
export function acknowledged(
  journal: Journal,
  sent: EventsRequest,
  acked: number,
): Journal | null {
  const taken = new Set(sent.events.map(({ seq }) => seq).filter((seq) => seq <= acked));
  if (sent.result !== undefined && taken.size === sent.events.length) return null;
  return { ...journal, events: journal.events.filter(({ seq }) => !taken.has(seq)) };
}

/**
 * The journal after the portal refused `sent` for the third time (protocol §5): its events are discarded
 * and a result goes alone; refused again, it is given up (null) but kept in the state.
 */
export function refusedForGood(journal: Journal, sent: EventsRequest): Journal | null {
  if (journal.result_alone === true) return null;
  const discarded = new Set(sent.events.map((event) => event.seq));
  const events = journal.events.filter((event) => !discarded.has(event.seq));
  if (sent.result === undefined) return { ...journal, events };
  return { ...journal, events, result_alone: true };
}

/** A result whose log fits: the oldest lines go first, and the log says that it was cut. */
function shortened(result: OperationResult): OperationResult {
  const { log_tail: log } = result;
  if (log === undefined) return result;
  let room = MAX_RESULT_BYTES - bytesOf({ ...result, log_tail: [] });
  let first = log.length;
  while (first > 0) {
    room -= bytesOf(log[first - 1]);
    if (room < 0) break;
    first--;
  }
  if (first === 0) return result;
  // The word about it takes the room of one line more.
  const left = log.slice(first + 1);
  return { ...result, log_tail: [`(${log.length - left.length} older lines do not fit)`, ...left] };
}

/** As many of the oldest events as fit one request, and at least one. */
function firstThatFit(events: readonly OperationEvent[]): OperationEvent[] {
  let room = MAX_EVENTS_BYTES;
  const last = events.findIndex((event) => (room -= bytesOf(event)) < 0);
  return last < 0 ? [...events] : events.slice(0, Math.max(last, 1));
}

/** What a value takes of a body, with the comma behind it. */
function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length + 1;
}

/**
 * The results that are still to be remembered. One is forgotten when each witness says that it is old
 * enough; where a witness contradicts what was noted of it, its time begins with this look.
 */
export function remembered(
  finished: Readonly<Record<string, Finished>>,
  witnesses: Witnesses,
): Record<string, Finished> {
  return Object.fromEntries(
    Object.entries(finished)
      .filter(([, { at, lived_ms }]) => !mayForget({ at, lived_ms }, witnesses))
      .map(([id, entry]) => [id, { ...entry, ...sinceOf(entry, witnesses) }]),
  );
}

function withFinished(
  finished: Readonly<Record<string, Finished>>,
  journal: Journal,
  witnesses: Witnesses,
): Record<string, Finished> {
  const kept = remembered(finished, witnesses);
  if (journal.result === undefined || Object.hasOwn(kept, journal.id)) return kept;
  const entries = Object.entries(kept);
  // What was refused never ran: without room it is refused again instead of remembered.
  if (entries.length >= MAX_REMEMBERED && hasNotRun(journal)) return kept;
  const entry: Finished = {
    kind: journal.kind,
    begun_at: journal.begun_at,
    at: new Date(witnesses.now).toISOString(),
    lived_ms: witnesses.livedMs,
    steps: journal.steps,
    result: journal.result,
  };
  return Object.fromEntries(slimmed([...entries, [journal.id, entry]]));
}

function hasNotRun({ result }: Journal): boolean {
  return result?.state === "refused" || result?.state === "unsupported";
}

/**
 * Older results lose logs, outputs, messages and steps where all together would be too much; never their ID,
 * nor how they ended.
 */
function slimmed(entries: readonly [string, Finished][]): [string, Finished][] {
  let room = MAX_WHOLE_BYTES;
  return entries.toReversed().map(([id, entry]): [string, Finished] => {
    room -= JSON.stringify(entry).length;
    if (room > 0) return [id, entry];
    const { state, step, code } = entry.result;
    const result = {
      state,
      ...(step === undefined ? {} : { step }),
      ...(code === undefined ? {} : { code }),
    };
    return [id, { ...entry, steps: [], result }];
  }).toReversed();
}
