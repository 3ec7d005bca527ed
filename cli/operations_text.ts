import type { OperationView } from "../core/agent/operations_view.ts";
import { printable } from "../core/printable.ts";

/** The operations for people, newest first, one a line. */
export function operationList(operations: readonly OperationView[]): string {
  if (operations.length === 0) return "no operations in the last 30 days\n";
  const rows = operations.map((one) =>
    [
      one.begun_at.slice(0, 19).replace("T", " "),
      one.id,
      one.kind,
      one.state,
      one.result?.code ?? one.steps.at(-1)?.name ?? "",
      one.reported ? "" : "not reported yet",
    ].map(printable)
  );
  const head = ["begun (UTC)", "id", "kind", "state", "step or code", ""];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0))
  );
  return [head, ...rows].map((row) =>
    `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()}\n`
  ).join("");
}

/** Longer values are told by their length: `--json` has them whole. */
const MAX_VALUE = 200;

function shownValue(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > MAX_VALUE ? `(${text.length} characters: see --json)` : text;
}

/** A message of several lines: those after the first begin further in, so that none looks like ours. */
function indented(message: string): string[] {
  return message.split("\n").map((line, index) => index === 0 ? line : `  ${line}`);
}

/** One operation for people: its steps with times and evidence, its result, its log. */
export function operationDetail(one: OperationView, log: readonly string[]): string {
  const lines = [
    `${one.id}: ${one.kind}, ${one.state}${one.reported ? "" : ", not reported yet"}`,
    `begun ${one.begun_at}${one.ended_at === null ? "" : `, ended ${one.ended_at}`}`,
  ];
  if (one.result?.message !== undefined) lines.push(...indented(one.result.message));
  lines.push("", "steps");
  if (one.steps.length === 0) lines.push("  none was begun");
  for (const [index, step] of one.steps.entries()) {
    const { name, started_at, ended_at, state, evidence } = step;
    // Cut short with its process, it stands here again where it was begun anew.
    const isCut = ended_at === null && index < one.steps.length - 1;
    const end = isCut ? "cut short" : `to ${ended_at?.slice(11, 19) ?? "now"}`;
    const what = isCut ? "begun anew below" : state;
    lines.push(`  ${name.padEnd(20)} ${`${started_at.slice(11, 19)} ${end}`.padEnd(20)} ${what}`);
    if (evidence !== undefined) lines.push(`  ${"".padEnd(20)} ${evidence}`);
  }
  if (one.result?.output !== undefined) {
    lines.push("", "output");
    for (const [name, value] of Object.entries(one.result.output)) {
      lines.push(`  ${name.padEnd(20)} ${shownValue(value)}`);
    }
  }
  lines.push("", "log");
  lines.push(...(log.length === 0 ? ["  none"] : log.map((line) => `  ${line}`)));
  return `${lines.map(printable).join("\n")}\n`;
}
