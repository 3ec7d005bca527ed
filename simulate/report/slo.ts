import { fail, ok, type Result } from "../../core/result.ts";
import { type Histogram, percentile } from "./histogram.ts";
import { type Endpoint, ENDPOINTS, type Report, type ReportJudgement } from "./report.ts";

/** A limit on one figure of a report. */
export interface Limit {
  /** As it was given. */
  readonly text: string;
  /** What is measured, in the limit's unit; null where the report holds nothing to measure. */
  readonly measure: (report: Report) => number | null;
  readonly compare: "<" | "<=" | ">" | ">=";
  readonly value: number;
}

/** How limits are written, for usage texts. */
export const SLO_HELP = `sync.p99<500ms        response time of an endpoint (${
  ENDPOINTS.join(", ")
}):
                             p50 ... p99.9, max, mean; in us, ms or s
       errors<0.1%           of all requests; without % their number; sync.errors, errors.http_503
       synced>=99%           agents whose last sync had succeeded at the end; enrolled likewise
       lateness.p99<50ms     how late the simulator itself was; faults<1`;

const FORM =
  /^([a-z][a-z0-9_]*(?:\.[a-z0-9_]+(?:\.[0-9]+)?)?)(<=|>=|<|>)([0-9]+(?:\.[0-9]+)?)(us|ms|s|%)?$/;
/** Microseconds in each unit of time. */
const UNITS: Readonly<Record<string, number>> = { us: 1, ms: 1000, s: 1_000_000 };

/** Reads `sync.p99<500ms,errors<0.1%`; the error says which part is not understood and why. */
export function parseSlo(text: string): Result<readonly Limit[], string> {
  const limits: Limit[] = [];
  for (const part of text.split(",").map((one) => one.replaceAll(/\s/g, ""))) {
    const limit = parseLimit(part);
    if (!limit.ok) return limit;
    limits.push(limit.value);
  }
  return ok(limits);
}

/** What the report says to each limit. Nothing to measure is not held: silence proves nothing. */
export function judge(report: Report, limits: readonly Limit[]): ReportJudgement[] {
  return limits.map(({ text, measure, compare, value }) => {
    const measured = measure(report);
    return { limit: text, measured, held: measured !== null && holds(measured, compare, value) };
  });
}

function parseLimit(text: string): Result<Limit, string> {
  const [, metric = "", compare, number, unit] = FORM.exec(text) ?? [];
  if (compare === undefined || number === undefined) {
    return fail(`'${text}' is no limit such as sync.p99<500ms or errors<0.1%`);
  }
  const measure = measureOf(metric, unit);
  if (!measure.ok) return fail(`'${text}': ${measure.error}`);
  return ok({
    text,
    measure: measure.value,
    compare: compare as Limit["compare"],
    value: Number(number),
  });
}

function measureOf(metric: string, unit: string | undefined): Result<Limit["measure"], string> {
  const [subject = "", ...rest] = metric.split(".");
  const detail = rest.join(".");
  const isPercent = unit === "%";
  const isTime = unit !== undefined && !isPercent;
  const endpoint = ENDPOINTS.find((name) => name === subject);

  if (subject === "errors" || detail === "errors") {
    if (isTime) return fail("errors are counted, or a share in %");
    return ok(
      subject === "errors"
        ? (report) => errors(report, ENDPOINTS, detail === "" ? null : detail, isPercent)
        : (report) => endpoint === undefined ? null : errors(report, [endpoint], null, isPercent),
    );
  }
  if ((subject === "synced" || subject === "enrolled") && detail === "") {
    if (isTime) return fail("agents are counted, or a share in %");
    return ok(({ agents }) => {
      const count = subject === "synced" ? agents.states.synced ?? 0 : agents.enrolled;
      return isPercent ? share(count, agents.included) : count;
    });
  }
  if (subject === "faults" && detail === "") {
    return unit === undefined ? ok((report) => report.faults.length) : fail("faults are counted");
  }
  if (endpoint === undefined && subject !== "lateness") {
    return fail(
      `nothing is called '${subject}'; there are ${
        ENDPOINTS.join(", ")
      }, errors, synced, enrolled, ` +
        "lateness, faults",
    );
  }
  if (!isTime) return fail("a time needs a unit: us, ms or s");
  const figure = figureOf(detail);
  if (figure === null) return fail(`'${detail}' is none of p0 to p100, max, mean, errors`);
  const scale = UNITS[unit] ?? 1;
  return ok((report) => {
    const histogram = endpoint === undefined
      ? report.resources?.lateness
      : report.endpoints[endpoint]?.response;
    return histogram === undefined || histogram.count === 0 ? null : figure(histogram) / scale;
  });
}

function figureOf(name: string): ((histogram: Histogram) => number) | null {
  if (name === "max") return ({ max }) => max;
  if (name === "mean") return ({ sum, count }) => sum / count;
  const percent = /^p([0-9]{1,3}(?:\.[0-9]+)?)$/.exec(name)?.[1];
  if (percent === undefined || Number(percent) > 100) return null;
  return (histogram) => percentile(histogram, Number(percent));
}

function errors(
  report: Report,
  endpoints: readonly Endpoint[],
  code: string | null,
  asShare: boolean,
): number | null {
  const figures = endpoints.flatMap((name) => report.endpoints[name] ?? []);
  const requests = figures.reduce((sum, one) => sum + one.requests, 0);
  const count = code === null
    ? figures.reduce((sum, one) => sum + one.errors, 0)
    : report.errors[code] ?? 0;
  if (requests === 0) return null;
  return asShare ? share(count, requests) : count;
}

function share(count: number, of: number): number | null {
  return of === 0 ? null : count / of * 100;
}

function holds(measured: number, compare: Limit["compare"], value: number): boolean {
  switch (compare) {
    case "<":
      return measured < value;
    case "<=":
      return measured <= value;
    case ">":
      return measured > value;
    case ">=":
      return measured >= value;
  }
}
