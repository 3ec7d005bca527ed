import type { HistoryView } from "../core/agent/history_view.ts";
import { isJsonObject, type JsonValue } from "../core/json.ts";
import { printable } from "../core/printable.ts";

type Entry = HistoryView["entries"][number];

/** Behind a time that was not certain when the entry was written. */
const UNCERTAIN = "?";

/** The history as readable text, oldest entry first: one line for each, then what it changed and who approved it. */
export function historyText(entries: readonly Entry[]): string {
  if (entries.length === 0) return "nothing is in the history\n";
  const head = ["time (UTC)", "by", "what"];
  const rows = entries.flatMap((entry) => {
    const [what = "", ...more] = linesOf(entry);
    return [[timeOf(entry), byOf(entry), what], ...more.map((line) => ["", "", `  ${line}`])];
  }).map((row) => row.map(printable));
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0))
  );
  const text = [head, ...rows].map((row) =>
    `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()}\n`
  ).join("");
  return entries.some(({ certain }) => !certain)
    ? `${text}\n${UNCERTAIN} the node's clock was not certain then\n`
    : text;
}

function timeOf({ at, certain }: Entry): string {
  return `${at.slice(0, 19).replace("T", " ")}${certain ? "" : ` ${UNCERTAIN}`}`;
}

/** Who ordered it, and by which proof. */
function byOf({ by: { who, key } }: Entry): string {
  if (who === "root") return "root on the node";
  if (who === "agent") return "the agent";
  return typeof key === "string" ? `portal, key ${key}` : "portal, unproven";
}

function linesOf(entry: Entry): readonly string[] {
  const of = (name: string) => textOf(entry[name]);
  switch (entry.what) {
    case "enrolled":
      return [
        `enrolled at ${of("portal")} as ${of("agent_id")}: node ${of("node")} of cluster ` +
        `${of("cluster")}, server ${of("server")}`,
      ];
    case "history_begun":
      return ["the history begins here; this agent was enrolled before"];
    case "desired_accepted":
      return [
        `desired state ${of("revision")} accepted, ${releaseOf(entry["release"])}`,
        ...changesOf(entry["changed"], "it is the first one"),
        ...(entry["more"] === undefined ? [] : [`and ${of("more")} more changes`]),
        ...approvalsOf(entry["approvals"]),
      ];
    case "operation_begun":
      return [
        `operation ${of("id")} (${of("kind")}) begun: ${of("params")}`,
        ...approvalsOf(entry["approvals"]),
      ];
    case "operation_not_begun":
      return [`operation ${of("id")} (${of("kind")}) not begun: ${outcomeOf(entry)}`];
    case "operation_ended":
      return [`operation ${of("id")} (${of("kind")}) ended: ${outcomeOf(entry)}`];
    case "update_installed":
      return [
        `pbx-agent ${of("to")} installed in the place of ${of("from")}, on trial; ` +
        (entry["demanded"] === true ? "a 426 demands it" : "the desired state wants it"),
      ];
    case "update_confirmed":
      return [`pbx-agent ${of("version")} syncs and stays`];
    case "update_rolled_back":
      return [`pbx-agent ${of("from")} taken back to ${of("to")}`];
    case "revoked":
      return ["refuses this identity"];
    case "accepted_again":
      return ["takes this identity again"];
    case "trust_changed":
      return ["what config.yaml pins has changed", ...changesOf(entry["changed"], "")];
    case "uninstalled":
      return ["pbx-agent uninstalled, k3s left held"];
    default: {
      // Of a newer version.
      const { at: _at, certain: _certain, by: _by, agent: _agent, ...rest } = entry;
      return [textOf(rest)];
    }
  }
}

function releaseOf(value: unknown): string {
  if (!isJsonObject(value)) return "release unknown";
  const { version, sequence, key } = value as Record<string, JsonValue>;
  return `release ${textOf(version)} (sequence ${textOf(sequence)}), signed by release key ${
    textOf(key)
  }`;
}

function outcomeOf(entry: Entry): string {
  const { state, code, step } = entry;
  const where = step === undefined ? "" : ` at ${textOf(step)}`;
  return `${textOf(state)}${code === undefined ? "" : ` (${textOf(code)})`}${where}`;
}

/** @param none what an entry without a list says */
function changesOf(changes: unknown, none: string): readonly string[] {
  if (!Array.isArray(changes)) return none === "" ? [] : [none];
  return changes.filter(isJsonObject).map((change) => {
    const path = textOf(change["path"]);
    if (!("from" in change) && !("to" in change)) return `${path} changed`;
    const value = (name: string) => name in change ? JSON.stringify(change[name]) : "none";
    return `${path}: ${value("from")} -> ${value("to")}`;
  });
}

function approvalsOf(approvals: unknown): readonly string[] {
  if (!Array.isArray(approvals)) return [];
  return approvals.filter(isJsonObject).map(({ owner, fingerprint, change }) => {
    const what = change === undefined ? "approved" : `${textOf(change)} approved`;
    const name = textOf(owner);
    return `${what} by ${name === "" ? "" : `${name}, `}key ${textOf(fingerprint)}`;
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}
