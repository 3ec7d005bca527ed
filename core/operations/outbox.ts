import type { EventsRequest } from "../protocol/operation.ts";
import type { Finished, Report, State } from "../state/state.ts";

/** Results are kept this long, so that an ID offered again is answered and not run (protocol §5). */
const KEPT_MS = 30 * 24 * 3_600_000;

/** The state with `report` under way and its result kept. `now`: milliseconds, corrected clock. */
export function stage(state: State, report: Report, now: number): State {
  const finished = report.result === undefined
    ? state.finished
    : withFinished(state.finished, report, now);
  return { ...state, operation: report, finished };
}

/** The next body to send for a report. */
export function eventsRequest(report: Report): EventsRequest {
  const { result } = report;
  if (report.result_alone === true && result !== undefined) {
    const { log_tail: _log, output: _output, ...alone } = result;
    return { events: [], result: alone };
  }
  return { events: report.events, ...(result === undefined ? {} : { result }) };
}

/** The report after the portal took events up to `acked`; null when nothing is left to say. */
export function acknowledged(report: Report, acked: number): Report | null {
  if (report.result !== undefined) return null;
  return { ...report, events: report.events.filter((event) => event.seq > acked) };
}

/**
 * The report after the portal refused a request for the third time (protocol §5): its events are
 * discarded and the result goes alone; refused again, it is given up (null) but kept in the state.
 */
export function refusedForGood(report: Report): Report | null {
  if (report.result === undefined) return { ...report, events: [] };
  return report.result_alone === true ? null : { ...report, events: [], result_alone: true };
}

function withFinished(
  finished: Readonly<Record<string, Finished>>,
  report: Report,
  now: number,
): Record<string, Finished> {
  const kept = Object.entries(finished).filter(([, { at }]) => now - Date.parse(at) < KEPT_MS);
  if (report.result === undefined || Object.hasOwn(finished, report.id)) {
    return Object.fromEntries(kept);
  }
  const entry = { kind: report.kind, at: new Date(now).toISOString(), result: report.result };
  return Object.fromEntries([...kept, [report.id, entry]]);
}
