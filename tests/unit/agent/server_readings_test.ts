import assert from "node:assert/strict";
import {
  judgeReading,
  NO_READING,
  type ServerReadings,
} from "../../../core/agent/server_readings.ts";

/** The verdicts after readings of `[server, seconds]`, on an agent that was made for server 1. */
function verdicts(...readings: readonly (readonly [string, number])[]): string[] {
  let known: ServerReadings = NO_READING;
  return readings.map(([id, at]) => {
    known = judgeReading(known, id, at * 1_000, "1");
    return known.verdict;
  });
}

Deno.test("judgeReading: two equal readings that differ, 60 s apart, make it another server", () => {
  assert.deepEqual(verdicts(["2", 0], ["2", 60]), ["doubt", "other"]);
  assert.deepEqual(verdicts(["2", 0], ["2", 59.999], ["2", 60]), ["doubt", "doubt", "other"]);
});

Deno.test("judgeReading: one wrong answer decides nothing", () => {
  assert.deepEqual(verdicts(["1", 0]), ["same"]);
  assert.deepEqual(verdicts(["2", 0], ["1", 60]), ["doubt", "same"]);
  assert.deepEqual(
    verdicts(["2", 0], ["3", 60], ["2", 120], ["2", 180]),
    ["doubt", "doubt", "doubt", "other"],
  );
});

Deno.test("judgeReading: two readings of the right server, 60 s apart, take it back", () => {
  const other = [["2", 0], ["2", 60]] as const;
  assert.deepEqual(verdicts(...other, ["1", 660], ["1", 720]).slice(2), ["other", "same"]);
  assert.deepEqual(
    verdicts(...other, ["1", 660], ["2", 720], ["1", 1_320], ["1", 1_330], ["1", 1_380]).slice(2),
    ["other", "other", "other", "other", "same"],
  );
});
