import { type Histogram, percentile } from "./histogram.ts";
import type { ReportSummary } from "./report.ts";

/** The usual figures of a histogram of microseconds, in milliseconds; null where it is empty. */
export function summaryOf(histogram: Histogram): ReportSummary | null {
  const { count, sum, max } = histogram;
  if (count === 0) return null;
  const at = (percent: number) => percentile(histogram, percent) / 1000;
  return {
    p50: at(50),
    p90: at(90),
    p99: at(99),
    p99_9: at(99.9),
    max: max / 1000,
    mean: Math.round(sum / count) / 1000,
  };
}
