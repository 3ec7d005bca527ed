import { type Histogram, percentile } from "../report/histogram.ts";
import { ENDPOINTS, type Report, STATES } from "../report/report.ts";
import { type Chart, drawChart, type Series } from "./chart.ts";
import { count, duration, elapsed, milliseconds, number } from "./figures.ts";
import type { Html } from "./html.ts";
import { linearScale, type Scale, scaleFor, timeScale } from "./scale.ts";
import { type Counts, type Stretch, summed, timelineOf, total } from "./timeline.ts";
import { ENDPOINT_WORDS, STATE_COLOURS } from "./words.ts";

/** Every chart of a report, in the order of the page. */
export function chartsOf(report: Report): readonly Html[] {
  const timeline = timelineOf(report);
  if (timeline.length === 0) return [];
  const charts = [
    latency(timeline, report),
    distribution(report),
    states(timeline, report),
    rates(timeline, report),
    errors(timeline, report),
  ];
  return charts.filter((chart) => chart !== null).map(drawChart);
}

const OVER_TIME = [["p50", 50, 0], ["p90", 90, 1], ["p99", 99, 2], ["slowest", 100, 9]] as const;

function latency(timeline: readonly Stretch[], report: Report): Chart | null {
  const at = (stretch: Stretch, percent: number) =>
    stretch.sync === null ? null : percentile(stretch.sync, percent) / 1_000;
  const series: Series[] = OVER_TIME.map(([name, percent, colour]) => ({
    name,
    colour,
    values: timeline.map((stretch) => at(stretch, percent)),
  }));
  const values = valuesOf(series);
  if (values.length === 0) return null;
  return {
    ...overTime(timeline, report, "middle"),
    id: "latency",
    title: "Response time of reports",
    caption: "How long a report took, from the moment it was due to the last byte of its answer. " +
      "Half of all were faster than p50, 99 of 100 faster than p99.",
    kind: "lines",
    series,
    y: scaleFor(Math.min(...values), Math.max(...values)),
    yTick: milliseconds,
    axes: { x: "time since the start", y: "response time" },
    tell: milliseconds,
  };
}

/** Points of a curve: more are not seen. */
const POINTS = 120;

function distribution({ endpoints }: Report): Chart | null {
  const shown = ENDPOINTS.flatMap((name) => {
    const figures = endpoints[name];
    return figures === undefined || figures.response.count === 0 ? [] : [{ name, figures }];
  });
  const most = Math.max(0, ...shown.map(({ figures }) => figures.response.count));
  if (most === 0) return null;
  // One of 1,000 values is the 99.9th percentile: beyond it there is nothing to see.
  const nines = Math.min(Math.max(Math.log10(most), 1), 6);
  const places = Array.from({ length: POINTS + 1 }, (_point, index) => index / POINTS * nines);
  const curve = (histogram: Histogram) =>
    places.map((place) =>
      place > Math.log10(histogram.count) + 1e-9 && place > 0
        ? null
        : percentile(histogram, 100 * (1 - 10 ** -place)) / 1_000
    );
  const series: Series[] = shown.map(({ name, figures }) => ({
    name: ENDPOINT_WORDS[name],
    colour: ENDPOINTS.indexOf(name),
    values: curve(figures.response),
  }));
  const sync = endpoints.sync;
  if (sync !== undefined && sync.service.count > 0) {
    series.push({
      name: "reports, the portal's share",
      colour: ENDPOINTS.indexOf("sync"),
      values: curve(sync.service),
      dashed: true,
    });
  }
  const values = valuesOf(series);
  return {
    id: "distribution",
    title: "Response times by percentile",
    caption:
      "Each step to the right leaves a tenth as many requests that were slower. The dashed line " +
      "counts from the moment a report was sent: what lies between is waiting in the simulator.",
    kind: "lines",
    series,
    places,
    placeNames: places.map((place) => `${percentText(place)} were as fast as this, or faster`),
    x: nineScale(nines),
    y: scaleFor(Math.min(...values), Math.max(...values)),
    xTick: percentText,
    yTick: milliseconds,
    axes: { x: "share of requests", y: "response time" },
    tell: milliseconds,
  };
}

/** 0 is none, 1 is 90 %, 2 is 99 %. */
function nineScale(nines: number): Scale {
  const whole = Array.from({ length: Math.floor(nines) }, (_tick, index) => index + 1);
  const half = Math.log10(2);
  return { ticks: [0, half, ...whole], place: (value) => value / nines };
}

function percentText(nines: number): string {
  const share = 100 * (1 - 10 ** -nines);
  return `${Number(share.toFixed(Math.max(0, Math.ceil(nines) - 1)))} %`;
}

function states(timeline: readonly Stretch[], report: Report): Chart | null {
  const seen = summed(timeline.map((stretch) => stretch.states));
  const series = STATES.filter((state) => (seen[state] ?? 0) > 0).map((state) => ({
    name: state,
    colour: STATE_COLOURS[state],
    values: timeline.map((stretch) => stretch.states[state] ?? 0),
  }));
  if (series.length === 0) return null;
  const most = Math.max(...timeline.map((stretch) => total(stretch.states)));
  return {
    ...overTime(timeline, report, "end"),
    id: "states",
    title: "Agents by state",
    caption: "What the agents were doing. The states are explained below.",
    kind: "area",
    series,
    y: linearScale(most),
    yTick: number,
    axes: { x: "time since the start", y: "agents" },
    tell: count,
  };
}

function rates(timeline: readonly Stretch[], report: Report): Chart | null {
  const seen = summed(timeline.map((stretch) => stretch.requests));
  const perSecond = (counts: Counts, stretch: Stretch, name: string) =>
    (counts[name] ?? 0) / (stretch.spanMs / 1_000);
  const series = ENDPOINTS.filter((name) => (seen[name] ?? 0) > 0).map((name) => ({
    name: ENDPOINT_WORDS[name],
    colour: ENDPOINTS.indexOf(name),
    values: timeline.map((stretch) => perSecond(stretch.requests, stretch, name)),
  }));
  if (series.length === 0) return null;
  return {
    ...overTime(timeline, report, "middle"),
    id: "rates",
    title: "Requests a second",
    caption: "Requests that were answered or failed, by what they were for.",
    kind: "area",
    series,
    y: linearScale(highest(timeline.length, series)),
    yTick: (tick) => `${number(tick)}/s`,
    axes: { x: "time since the start", y: "requests a second" },
    tell: (value) => `${number(value)}/s`,
  };
}

const MOST_CODES = 6;
const PROVOKED_COLOUR = 9;

function errors(timeline: readonly Stretch[], report: Report): Chart | null {
  const seen = Object.entries(summed(timeline.map((stretch) => stretch.errors)))
    .sort(([, one], [, other]) => other - one);
  const named = seen.slice(0, MOST_CODES).map(([code]) => code);
  const series: Series[] = named.map((code, index) => ({
    name: code,
    colour: [3, 4, 2, 5, 1, 0][index] ?? 0,
    values: timeline.map((stretch) => stretch.errors[code] ?? 0),
  }));
  if (seen.length > MOST_CODES) {
    const others = (stretch: Stretch) =>
      total(stretch.errors) - named.reduce((sum, code) => sum + (stretch.errors[code] ?? 0), 0);
    series.push({ name: "other codes", colour: 7, values: timeline.map(others) });
  }
  const provoked = timeline.map((stretch) => total(stretch.provoked));
  if (provoked.some((value) => value > 0)) {
    series.push({ name: "on purpose", colour: PROVOKED_COLOUR, values: provoked });
  }
  if (series.length === 0) return null;
  return {
    ...overTime(timeline, report, "middle"),
    id: "errors",
    title: "Requests that failed",
    caption:
      "By the code of the error. What the profile of the run did on purpose (lost answers, " +
      "outages, refusals) is told apart and counts as no error.",
    kind: "bars",
    series,
    y: linearScale(highest(timeline.length, series)),
    yTick: number,
    axes: { x: "time since the start", y: "failed requests" },
    tell: count,
  };
}

/** What all charts over time have in common. */
function overTime(timeline: readonly Stretch[], { run }: Report, where: "middle" | "end") {
  const ends = timeline.at(-1)?.endMs ?? 0;
  const places = timeline.map(({ middleMs, endMs }) => where === "end" ? endMs : middleMs);
  const began = Date.parse(run.started_at);
  const clock = (ms: number) =>
    Number.isNaN(began) ? "" : ` (${new Date(began + ms).toISOString().slice(11, 19)} UTC)`;
  const each = timeline.length > 1 ? (timeline[1]?.endMs ?? 0) - (timeline[0]?.endMs ?? 0) : 0;
  const about = where === "end" || each === 0 ? "" : `, ${duration(each)} around it`;
  return {
    places,
    placeNames: places.map((place) => `${elapsed(place)}${clock(place)}${about}`),
    x: timeScale(ends),
    xTick: elapsed,
  };
}

function valuesOf(series: readonly Series[]): number[] {
  return series.flatMap(({ values }) => values.filter((value) => value !== null));
}

/** The highest stack. */
function highest(places: number, series: readonly Series[]): number {
  const stacks = Array.from(
    { length: places },
    (_place, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
  );
  return Math.max(0, ...stacks);
}
