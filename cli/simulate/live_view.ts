import { percentile } from "../../simulate/report/histogram.ts";
import type { Look } from "../../simulate/report/recorder.ts";
import { STATES } from "../../simulate/report/report.ts";

/** A moment of a run, for people who watch. */
export interface Moment {
  readonly look: Look;
  readonly elapsedMs: number;
  readonly durationMs: number;
  /** Requests a second since the moment before. */
  readonly rate: number;
}

/** One plain line: for logs, and wherever no terminal is. */
export function liveLine(moment: Moment): string {
  const { look, elapsedMs, rate } = moment;
  return [
    `${clockOf(elapsedMs)}  ${statesOf(look)}`,
    `${rate.toFixed(1)} req/s`,
    `sync ${latencyOf(look)}`,
    `errors ${errorsOf(look)}`,
  ].join("; ");
}

/** Several lines for a terminal, to be drawn over the ones before. */
export function liveLines(moment: Moment): readonly string[] {
  const { look, elapsedMs, durationMs, rate } = moment;
  return [
    `${clockOf(elapsedMs)} of ${clockOf(durationMs)}   ${rate.toFixed(1)} requests/s, ` +
    `${look.requests} in all`,
    `agents   ${statesOf(look)}`,
    `sync     ${latencyOf(look)}`,
    `errors   ${errorsOf(look)}`,
  ];
}

function statesOf({ states }: Look): string {
  const shown = STATES.flatMap((state) => {
    const count = states.get(state) ?? 0;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  return shown.length === 0 ? "no agents" : shown.join(", ");
}

function latencyOf(look: Look): string {
  const sync = look.sync();
  if (sync.count === 0) return "none yet";
  const at = (percent: number) => `${(percentile(sync, percent) / 1000).toFixed(1)} ms`;
  return `p50 ${at(50)}, p90 ${at(90)}, p99 ${at(99)}, max ${at(100)}`;
}

function errorsOf({ errors, provoked }: Look): string {
  const shown = [...errors].sort(([, one], [, other]) => other - one)
    .map(([code, count]) => `${count} ${code}`);
  const own = provoked === 0 ? "" : ` (and ${provoked} by the profile)`;
  return (shown.length === 0 ? "none" : shown.join(", ")) + own;
}

/** Minutes and seconds; hours where there are any. */
function clockOf(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60]
    .map((part) => String(part).padStart(2, "0"));
  const hours = Math.floor(seconds / 3600);
  return (hours === 0 ? "" : `${hours}:`) + parts.join(":");
}
