import type { RestoreEnd } from "../../simulate/servers/restore_run.ts";
import type { StoryLine } from "../../simulate/servers/story.ts";
import type { RestoreRunOptions } from "./restore_options.ts";

/** One line of the story: `00:05:30  demo-1    what happens`. */
export function storyText({ at, who, what }: StoryLine): string {
  return `${timeText(at)}  ${who.padEnd(WHO_WIDTH)}  ${what}\n`;
}

/** What is on every server at the end, and whether it is as it should be. */
export function restoreEndText(end: RestoreEnd, options: RestoreRunOptions): string {
  const rows = [
    ["server", "member", "orders", "invoices", "leads"],
    ...end.servers.map(({ name, member, orders, invoices, leads }) => [
      name,
      member ?? "none",
      orders ?? "none",
      invoices ?? "none",
      leads ? "yes" : "no",
    ]),
  ];
  const widths = rows[0]?.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0))
  );
  const table = rows.map((row) =>
    row.map((cell, column) => cell.padEnd(widths?.[column] ?? 0)).join("  ").trimEnd()
  );
  const checks = end.checks.map(({ name, holds, found }) =>
    `${holds ? "ok      " : "BROKEN  "}${name} (${found})`
  );
  const command = `simulate restore --servers ${options.servers} --seed ${options.seed}` +
    (options.trouble ? " --trouble" : "");
  const last = end.ok
    ? `everything is as it should be, after ${timeText(end.elapsedMs)} of simulated time`
    : `not everything is as it should be; replay: deno task ${command}`;
  return ["", ...table, "", ...checks, "", last, ""].join("\n");
}

const WHO_WIDTH = 8;

function timeText(ms: number): string {
  const pad = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return [pad(ms / 3_600_000), pad(ms / 60_000 % 60), pad(ms / 1000 % 60)].join(":");
}
