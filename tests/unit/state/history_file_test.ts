import assert from "node:assert/strict";
import { createFakeDisk, type FakeDisk } from "../../../adapters/fake/disk.ts";
import type { HistoryEntry } from "../../../core/state/history.ts";
import {
  MAX_HISTORY_BYTES,
  openHistoryFile,
  parseHistory,
} from "../../../core/state/history_file.ts";
import { HISTORY_BEFORE_FILE, HISTORY_FILE, STATE_DIRECTORY } from "../../../core/state/paths.ts";

function entry(number: number): HistoryEntry {
  const at = new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString();
  return {
    at,
    certain: true,
    what: "operation_begun",
    by: { who: "portal", key: null },
    id: `op-${number}`,
  };
}

function idsOf(text: string): string[] {
  return text.trim().split("\n").map((line) => JSON.parse(line).id);
}

function textAt(disk: FakeDisk, path: string): string {
  return disk.text(path) ?? "";
}

function newDisk() {
  const disk = createFakeDisk();
  disk.put(`${STATE_DIRECTORY}/state.json`, "{}");
  return disk;
}

Deno.test("history file: each entry is one line that names its agent, readable by root alone", async () => {
  const disk = newDisk();
  const file = openHistoryFile(disk);
  assert.ok((await file.write([entry(1)], "agent-a")).ok);
  assert.ok((await file.write([entry(1), entry(2)], "agent-a")).ok);
  assert.deepEqual(idsOf(textAt(disk, HISTORY_FILE)), ["op-1", "op-2"]);
  assert.equal(JSON.parse(textAt(disk, HISTORY_FILE).split("\n")[0] ?? "").agent, "agent-a");
  const seen = await disk.inspect(HISTORY_FILE);
  assert.equal(seen.ok && seen.value?.mode, 0o600);
});

Deno.test("history file: a new process appends only what is not there yet", async () => {
  const disk = newDisk();
  await openHistoryFile(disk).write([entry(1), entry(2)], "agent-a");
  await openHistoryFile(disk).write([entry(1), entry(2), entry(3)], "agent-a");
  assert.deepEqual(idsOf(textAt(disk, HISTORY_FILE)), ["op-1", "op-2", "op-3"]);
});

Deno.test("history file: the half line of a power cut stands alone, and its entry is appended again", async () => {
  const disk = newDisk();
  await openHistoryFile(disk).write([entry(1), entry(2)], "agent-a");
  const whole = textAt(disk, HISTORY_FILE);
  disk.put(HISTORY_FILE, whole.slice(0, -20));
  await openHistoryFile(disk).write([entry(1), entry(2)], "agent-a");
  const parsed = parseHistory(new TextEncoder().encode(textAt(disk, HISTORY_FILE)), "agent-a");
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.value.lines.map((line) => (line as { id: string }).id), ["op-1", "op-2"]);
  assert.equal(parsed.value.unreadable, 1);
});

Deno.test("history file: a line that is being written is not a broken one", () => {
  const text = `${JSON.stringify({ ...entry(1) })}\n{"at":"2026`;
  const parsed = parseHistory(new TextEncoder().encode(text), "agent-a");
  assert.ok(parsed.ok);
  assert.equal(parsed.value.lines.length, 1);
  assert.equal(parsed.value.unreadable, 0);
});

Deno.test("history file: over 5 MiB a new file begins, and one is kept", async () => {
  const disk = newDisk();
  const line = `${JSON.stringify({ agent: "agent-a", ...entry(1), note: "x".repeat(1_000) })}\n`;
  disk.put(HISTORY_FILE, line.repeat(Math.floor(MAX_HISTORY_BYTES / line.length)));
  const full = textAt(disk, HISTORY_FILE);
  const file = openHistoryFile(disk);
  let number = 2;
  while (textAt(disk, HISTORY_FILE).startsWith(line)) {
    assert.ok((await file.write([entry(number)], "agent-a")).ok);
    number += 1;
  }
  const before = textAt(disk, HISTORY_BEFORE_FILE);
  assert.ok(before.startsWith(full) && before.length <= MAX_HISTORY_BYTES, String(before.length));
  assert.deepEqual(idsOf(textAt(disk, HISTORY_FILE)), [`op-${number - 1}`]);
  // What is in the file before is not written once more by the next process.
  await openHistoryFile(disk).write([entry(number - 2), entry(number - 1)], "agent-a");
  assert.deepEqual(idsOf(textAt(disk, HISTORY_FILE)), [`op-${number - 1}`]);
});

Deno.test("history file: that of another agent is put aside, and not read", async () => {
  const disk = newDisk();
  await openHistoryFile(disk).write([entry(1)], "agent-b");
  const foreign = parseHistory(new TextEncoder().encode(textAt(disk, HISTORY_FILE)), "agent-a");
  assert.ok(!foreign.ok);
  assert.match(foreign.error, /belongs to agent agent-b/);
  await openHistoryFile(disk).write([entry(2)], "agent-a");
  assert.deepEqual(idsOf(textAt(disk, HISTORY_FILE)), ["op-2"]);
  assert.deepEqual(idsOf(textAt(disk, HISTORY_BEFORE_FILE)), ["op-1"]);
});

Deno.test("history file: what a full disk does not take is written once there is room", async () => {
  const disk = newDisk();
  const file = openHistoryFile(disk);
  await file.write([entry(1)], "agent-a");
  disk.onCall((name) => name === "append" ? "full" : null);
  const full = await file.write([entry(1), entry(2)], "agent-a");
  assert.equal(full.ok ? "" : full.error.code, "full");
  disk.onCall(() => null);
  assert.ok((await file.write([entry(1), entry(2), entry(3)], "agent-a")).ok);
  assert.deepEqual(idsOf(textAt(disk, HISTORY_FILE)), ["op-1", "op-2", "op-3"]);
});
