import type { Report } from "../../../../simulate/report/report.ts";
import { sampleReport } from "./sample_report.ts";

const HOSTILE = `"><img src=x onerror=alert(1)></script><script>alert(2)</script>'&\u202e`;

/** A report whose every text is hostile, names included; its times are none. */
export function hostileReport(slices: number): Report {
  const report = sampleReport(slices);
  const counts = { [HOSTILE]: 3, __proto__x: 1 };
  return {
    ...report,
    program: { version: HOSTILE, runtime: HOSTILE },
    run: {
      ...report.run,
      portal: HOSTILE,
      profile: { [HOSTILE]: HOSTILE },
      started_at: HOSTILE,
      ended_at: HOSTILE,
    },
    errors: counts,
    provoked: counts,
    operations: Object.fromEntries(
      Object.values(report.operations).map((figures) => [HOSTILE, { ...figures, results: counts }]),
    ),
    happenings: counts,
    slices: report.slices.map((slice) => ({ ...slice, errors: counts, provoked: counts })),
    slo: [{ limit: HOSTILE, measured: null, held: false }],
    faults: [{ agent: HOSTILE, message: HOSTILE }],
  };
}
