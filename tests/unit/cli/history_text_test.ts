import assert from "node:assert/strict";
import { historyText } from "../../../cli/history_text.ts";
import { parseSince, sinceTime } from "../../../cli/since.ts";
import type { HistoryEntry, HistoryEvent, Orderer } from "../../../core/state/history.ts";

function entry(by: Orderer, event: HistoryEvent | { what: string }, certain = true): HistoryEntry {
  return { at: "2026-01-31T08:00:00.123Z", certain, by, ...event };
}

const PORTAL: Orderer = { who: "portal", key: "0123456789abcdef" };

Deno.test("history: a line for each entry, and below it what it changed and who approved it", () => {
  const text = historyText([
    entry(PORTAL, {
      what: "desired_accepted",
      revision: 2,
      tag: "t",
      release: { version: "1.1.0", sequence: 7, key: "fedcba9876543210" },
      changed: [
        { path: "host.snapshots.retention", from: 14, to: 7 },
        { path: "secrets.hcloud.token" },
      ],
      more: 3,
      approvals: [{ owner: "ada@example.com", fingerprint: "SHA256:abc", change: "s3_target" }],
    }),
    entry({ who: "portal", key: null }, {
      what: "operation_begun",
      id: "op-1",
      kind: "cluster.restore",
      params: '{"from":"local"}',
    }),
    entry({ who: "agent" }, {
      what: "operation_ended",
      id: "op-1",
      kind: "cluster.restore",
      state: "failed",
      code: "checks_failed",
      step: "stop_k3s",
    }, false),
    entry({ who: "root" }, { what: "trust_changed", changed: [{ path: "join", to: "https://a" }] }),
  ]);
  assert.deepEqual(text.split("\n"), [
    "time (UTC)             by                            what",
    "2026-01-31 08:00:00    portal, key 0123456789abcdef  desired state 2 accepted, release 1.1.0 (sequence 7), signed by release key fedcba9876543210",
    "                                                       host.snapshots.retention: 14 -> 7",
    "                                                       secrets.hcloud.token changed",
    "                                                       and 3 more changes",
    "                                                       s3_target approved by ada@example.com, key SHA256:abc",
    '2026-01-31 08:00:00    portal, unproven              operation op-1 (cluster.restore) begun: {"from":"local"}',
    "2026-01-31 08:00:00 ?  the agent                     operation op-1 (cluster.restore) ended: failed (checks_failed) at stop_k3s",
    "2026-01-31 08:00:00    root on the node              what config.yaml pins has changed",
    '                                                       join: none -> "https://a"',
    "",
    "? the node's clock was not certain then",
    "",
  ]);
});

Deno.test("history: every kind of entry has words, one of a newer version its JSON", () => {
  const events: [HistoryEvent | { what: string }, RegExp][] = [
    [
      {
        what: "enrolled",
        agent_id: "a1",
        cluster: "c",
        node: "n",
        server: "1",
        portal: "https://p",
      },
      /enrolled at https:\/\/p as a1: node n of cluster c, server 1/,
    ],
    [{ what: "history_begun" }, /begins here/],
    [
      { what: "operation_not_begun", id: "op", kind: "k", state: "refused", code: "expired" },
      /operation op \(k\) not begun: refused \(expired\)/,
    ],
    [
      { what: "update_installed", from: "1", to: "2", demanded: true },
      /2 installed in the place of 1, on trial; a 426 demands it/,
    ],
    [{ what: "update_confirmed", version: "2" }, /2 syncs and stays/],
    [{ what: "update_rolled_back", from: "2", to: "1" }, /2 taken back to 1/],
    [{ what: "revoked" }, /refuses this identity/],
    [{ what: "accepted_again" }, /takes this identity again/],
    [{ what: "uninstalled" }, /uninstalled/],
    [{ what: "paused_by_the_moon" }, /\{"what":"paused_by_the_moon"\}/],
  ];
  for (const [event, words] of events) assert.match(historyText([entry(PORTAL, event)]), words);
  assert.equal(historyText([]), "nothing is in the history\n");
});

Deno.test("history: words from elsewhere make no line and steer no terminal", () => {
  const event = { what: "operation_begun", id: "op", kind: "k\u202e\n\u001b[2J", params: "{}" };
  const text = historyText([entry(PORTAL, event)]);
  assert.equal(text.split("\n").length, 3);
  assert.match(text, /k\\u202e\\n\\u001b\[2J/);
});

Deno.test("--since: a span, a day or a time, and nothing else", () => {
  const now = Date.UTC(2026, 0, 31, 8);
  const timeOf = (text: string) => {
    const since = parseSince(text);
    return since.ok ? new Date(sinceTime(since.value, now)).toISOString() : since.error;
  };
  assert.equal(timeOf("30m"), "2026-01-31T07:30:00.000Z");
  assert.equal(timeOf("12h"), "2026-01-30T20:00:00.000Z");
  assert.equal(timeOf("7d"), "2026-01-24T08:00:00.000Z");
  assert.equal(timeOf("2026-01-02"), "2026-01-02T00:00:00.000Z");
  assert.equal(timeOf("2026-01-02T03:04:05+01:00"), "2026-01-02T02:04:05.000Z");
  for (const wrong of ["", "yesterday", "7", "7w", "2026-13-01", "2026-01-02 03:04"]) {
    assert.match(timeOf(wrong), /^--since/, wrong);
  }
});
