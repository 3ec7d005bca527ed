import { OWN_LIMITS } from "../../simulate/fleet/own_limit.ts";
import { ENDPOINTS, type Report } from "../../simulate/report/report.ts";

/** A share of one core from which on a process of one thread has none left. */
const SATURATED = 0.95;

/** What a report says in short, for people at a terminal. */
export function reportText(report: Report): string {
  const { agents, endpoints, errors, operations, resources, run, slo, faults } = report;
  const lines = [
    `${agents.started} of ${agents.included} agents began, ${agents.enrolled} enrolled` +
    (run.ended_by === "signal" ? "; ended before its time, as told" : ""),
  ];
  for (const name of ENDPOINTS) {
    const figures = endpoints[name];
    if (figures === undefined) continue;
    const { requests, errors, provoked, response_ms: ms } = figures;
    lines.push(
      `${name.padEnd(11)}${requests} requests, ${errors} errors` +
        (provoked === 0 ? "" : `, ${provoked} by the profile`) +
        (ms === null ? "" : `; p50 ${ms.p50} ms, p99 ${ms.p99} ms, max ${ms.max} ms`),
    );
  }
  for (const [limit, text] of Object.entries(OWN_LIMITS)) {
    const times = report.happenings[`limit_${limit}`] ?? 0;
    if (times > 0) lines.push(`limit:     ${times} connections were not opened: ${text}`);
  }
  const codes = Object.entries(errors).map(([code, count]) => `${count} ${code}`);
  if (codes.length > 0) lines.push(`errors:    ${codes.join(", ")}`);
  for (const [kind, { begun, results }] of Object.entries(operations)) {
    const ended = Object.entries(results).map(([state, count]) => `${count} ${state}`);
    lines.push(`${kind}: ${begun} begun, ${ended.join(", ") || "none ended"}`);
  }
  for (const { agent, message } of faults.slice(0, 5)) {
    lines.push(`fault:     ${agent}: ${message.split("\n")[0] ?? ""}`);
  }
  const syncs = endpoints.sync?.requests ?? 0;
  if (resources !== null && syncs > 0) {
    lines.push(
      `simulator: ${
        (resources.cpu_ms / syncs).toFixed(2)
      } ms CPU per sync (all that an agent does ` +
        `included), ${Math.round(resources.rss_bytes / 2 ** 20)} MiB`,
    );
  }
  if (resources !== null && resources.busiest_share > SATURATED) {
    lines.push(
      "simulator: it had no time left at its busiest, and held agents up itself: a longer --ramp, or shards",
    );
  }
  for (const { limit, measured, held } of slo) {
    lines.push(`${held ? "held    " : "NOT HELD"}   ${limit}: ${measured ?? "nothing measured"}`);
  }
  return `${lines.join("\n")}\n`;
}
