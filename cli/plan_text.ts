import type { Change, PlanView } from "../core/agent/plan_view.ts";
import { printable } from "../core/printable.ts";

/** Longest value of a field that is shown, characters. */
const MAX_VALUE = 100;

/** The plan for people. */
export function planText(
  { revision, release, servers, withheld, host, secrets, addons }: PlanView,
): string {
  const lines = [`revision ${revision} of release ${release}`];
  if (servers > 1) lines.push(`of ${servers} servers only the one that leads carries this out`);
  const where = host.length > 0 ? " to the cluster" : "";
  if (withheld !== null) lines.push("", `nothing would be written${where}: ${withheld.trim()}`);
  lines.push("", "files of this server", ...hostLines(host));
  lines.push("", "Secrets of the cluster", ...changeLines(secrets));
  for (const { name, state, message, changes } of addons) {
    const said = message === undefined ? "" : `: ${message}`;
    lines.push("", `add-on ${name}: ${state}${said}`, ...changeLines(changes));
  }
  if (addons.length === 0) lines.push("", "no add-ons are named");
  lines.push("", "Nothing was written.", "");
  return lines.map(printable).join("\n");
}

function hostLines(changes: PlanView["host"]): string[] {
  if (changes.length === 0) return ["  nothing to do"];
  return changes.map(({ action, path, why }) => `  ${action.padEnd(6)} ${path}: ${why}`);
}

function changeLines(changes: readonly Change[]): string[] {
  if (changes.length === 0) return ["  nothing to do"];
  return changes.flatMap(({ action, object, why, differences }) => [
    `  ${action.padEnd(6)} ${object}: ${why}`,
    ...differences.map(({ field, live, wanted }) =>
      `           ${field}: ${valueText(live)} -> ${valueText(wanted)}`
    ),
  ]);
}

function valueText(value: unknown): string {
  if (value === undefined) return "(none)";
  const text = JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}...` : text;
}
