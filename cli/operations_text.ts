import type { OperationView } from "../core/agent/operations_view.ts";

/** The operations for people, newest first, one a line. */
export function operationList(operations: readonly OperationView[]): string {
  if (operations.length === 0) return "no operations in the last 30 days\n";
  const rows = operations.map((one) => [
    one.begun_at.slice(0, 19).replace("T", " "),
    one.id,
    one.kind,
    one.state,
    one.result?.code ?? one.steps.at(-1)?.name ?? "",
    one.reported ? "" : "not reported yet",
  ]);
  const head = ["begun (UTC)", "id", "kind", "state", "step or code", ""];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0))
  );
  return [head, ...rows].map((row) =>
    `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()}\n`
  ).join("");
}

/** One operation for people: its steps with times and evidence, its result, its log. */
export function operationDetail(one: OperationView, log: readonly string[]): string {
  const lines = [
    `${one.id}: ${one.kind}, ${one.state}${one.reported ? "" : ", not reported yet"}`,
    `begun ${one.begun_at}${one.ended_at === null ? "" : `, ended ${one.ended_at}`}`,
  ];
  if (one.result?.message !== undefined) lines.push(one.result.message);
  lines.push("", "steps");
  if (one.steps.length === 0) lines.push("  none was begun");
  for (const { name, started_at, ended_at, state, evidence } of one.steps) {
    const times = `${started_at.slice(11, 19)} to ${ended_at?.slice(11, 19) ?? "now"}`;
    // A step that was cut short and begun anew stands here twice, the first time without an end.
    lines.push(`  ${name.padEnd(20)} ${times.padEnd(20)} ${state}`);
    if (evidence !== undefined) lines.push(`  ${"".padEnd(20)} ${evidence}`);
  }
  if (one.result?.output !== undefined) {
    lines.push("", "output");
    for (const [name, value] of Object.entries(one.result.output)) {
      lines.push(
        `  ${name.padEnd(20)} ${typeof value === "string" ? value : JSON.stringify(value)}`,
      );
    }
  }
  lines.push("", "log");
  lines.push(...(log.length === 0 ? ["  none"] : log.map((line) => `  ${line}`)));
  return `${lines.join("\n")}\n`;
}
