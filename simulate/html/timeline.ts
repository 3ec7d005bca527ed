import { addHistograms, type Histogram } from "../report/histogram.ts";
import type { Report, ReportSlice } from "../report/report.ts";

/** A stretch of the run as the charts draw it: one slice, or several in a long run. */
export interface Stretch {
  /** Its middle and its end, milliseconds since the first slice began. */
  readonly middleMs: number;
  readonly endMs: number;
  /** How much of the run is in it, milliseconds: the first and last slices are cut off. */
  readonly spanMs: number;
  readonly requests: Counts;
  readonly errors: Counts;
  readonly provoked: Counts;
  /** Response times of syncs, microseconds; null where none ended in it. */
  readonly sync: Histogram | null;
  /** At its end. */
  readonly states: Counts;
}

/** How many of each name. */
export type Counts = Readonly<Record<string, number>>;

/** More than that, no screen shows. */
const MOST_STRETCHES = 240;

/** The report's slices in their order, joined so that there are at most {@link MOST_STRETCHES}. */
export function timelineOf({ slices, run }: Report): readonly Stretch[] {
  const sorted = slices.toSorted((one, other) => one.at_ms - other.at_ms);
  const first = sorted[0];
  const last = sorted.at(-1);
  if (first === undefined || last === undefined) return [];
  const each = Math.ceil(((last.at_ms - first.at_ms) / run.slice_ms + 1) / MOST_STRETCHES);
  const groups = Map.groupBy(
    sorted,
    ({ at_ms }) => Math.floor((at_ms - first.at_ms) / (run.slice_ms * each)),
  );
  const began = momentOf(run.started_at) ?? first.at_ms;
  const ended = momentOf(run.ended_at) ?? last.at_ms + run.slice_ms;
  return [...groups].map(([index, group]) => {
    const from = first.at_ms + index * run.slice_ms * each;
    const until = Math.max(...group.map(({ at_ms }) => at_ms)) + run.slice_ms;
    const within = Math.min(until, ended) - Math.max(from, began);
    return joined(group, from - first.at_ms, until - first.at_ms, within);
  });
}

function momentOf(text: string): number | null {
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

function joined(
  group: readonly ReportSlice[],
  fromMs: number,
  endMs: number,
  withinMs: number,
): Stretch {
  const sync = group.map((slice): Histogram => slice.sync).reduce(addHistograms);
  return {
    middleMs: (fromMs + endMs) / 2,
    endMs,
    // A slice that the run hardly touches would make a rate out of chance.
    spanMs: Math.min(Math.max(withinMs, (endMs - fromMs) / 4), endMs - fromMs),
    requests: summed(group.map(({ requests }) => requests)),
    errors: summed(group.map(({ errors }) => errors)),
    provoked: summed(group.map(({ provoked }) => provoked)),
    sync: sync.count === 0 ? null : sync,
    states: definite(group.at(-1)?.states ?? {}),
  };
}

/** The sums by name. Names come from a portal: none of them may be taken for an object's own. */
export function summed(all: readonly Partial<Counts>[]): Counts {
  const sums = new Map<string, number>();
  for (const counts of all) {
    for (const [name, value] of Object.entries(counts)) {
      sums.set(name, (sums.get(name) ?? 0) + (value ?? 0));
    }
  }
  return Object.fromEntries(sums);
}

function definite(counts: Partial<Counts>): Counts {
  return Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, value ?? 0]));
}

/** The sum of all. */
export function total(counts: Partial<Counts>): number {
  return Object.values(counts).reduce<number>((sum, value) => sum + (value ?? 0), 0);
}
