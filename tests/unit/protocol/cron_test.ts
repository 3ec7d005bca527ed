import assert from "node:assert/strict";
import fc from "fast-check";
import { isCronSchedule } from "../../../core/protocol/cron.ts";

// The verdicts in the first two tests are those of robfig/cron v3.0.1 ParseStandard, which k3s uses.

Deno.test("isCronSchedule: takes what k3s's parser takes", () => {
  const taken = [
    "* * * * *",
    "? ? ? ? ?",
    "0 */12 * * *",
    "0 0 1 1 0",
    "59 23 31 12 6",
    "*/5 0-6 1,15 * *",
    "5/10 * * * *",
    "59/10 * * * *",
    "1-5/2 * * * *",
    "0-0 * * * *",
    "*/100 * * * *",
    "?/5 * * * *",
    "007 * * * *",
    "0 3 * jan-mar/2 *",
    "0 3 * * MON-Fri",
    "0 3 * * sun,3,sat",
    "0 3 1,2-4,5/6 DEC *",
  ];
  for (const schedule of taken) assert.ok(isCronSchedule(schedule), schedule);
});

Deno.test("isCronSchedule: refuses what k3s's parser refuses", () => {
  const refused = [
    "",
    "*",
    "* * * *",
    "* * * * * *",
    "60 * * * *",
    "* 24 * * *",
    "* * 0 * *",
    "* * 32 * *",
    "* * * 0 *",
    "* * * 13 *",
    "* * * * 7",
    "*/0 * * * *",
    "5/0 * * * *",
    "60/10 * * * *",
    "5-1 * * * *",
    "5-1/2 * * * *",
    "1-60 * * * *",
    "1-2-3 * * * *",
    "1/2/3 * * * *",
    "1- * * * *",
    "-1 * * * *",
    "/5 * * * *",
    "*/ * * * *",
    "*/-1 * * * *",
    "*/jan * * * *",
    "** * * * *",
    "1.5 * * * *",
    "jan * * * *",
    "* * mon * *",
    "* * * mon *",
    "* * * * jan",
    "* * * * monday",
    "0 3 * * sat-sun",
    "0 3 L * *",
    "0 3 * * 1#2",
    "every day at three o'clock",
  ];
  for (const schedule of refused) assert.ok(!isCronSchedule(schedule), schedule);
});

Deno.test("isCronSchedule: is stricter than k3s where its parser is lenient", () => {
  const lenient = [
    "@daily",
    "@every 1h",
    "TZ=UTC 0 3 * * *",
    "CRON_TZ=Europe/Berlin 0 3 * * *",
    "0  3 * * *",
    " 0 3 * * *",
    "0 3 * * * ",
    "0\t3 * * *",
    "0 3 * * *\n",
    "1,,2 3 * * *",
    ",1 3 * * *",
    ", 3 * * *",
    "+5 3 * * *",
    "*-5 3 * * *",
    "00005 3 * * *",
  ];
  for (const schedule of lenient) assert.ok(!isCronSchedule(schedule), JSON.stringify(schedule));
});

const BOUNDS = [[0, 59], [0, 23], [1, 31], [1, 12], [0, 6]] as const;

Deno.test("isCronSchedule: a range is taken exactly when it lies in order within its field's bounds", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...BOUNDS.entries()),
      fc.nat(70),
      fc.nat(70),
      fc.option(fc.nat(3), { nil: undefined }),
      ([at, [min, max]], from, to, step) => {
        const fields = ["*", "*", "*", "*", "*"];
        fields[at] = `${from}-${to}` + (step === undefined ? "" : `/${step}`);
        assert.equal(
          isCronSchedule(fields.join(" ")),
          min <= from && from <= to && to <= max && step !== 0,
        );
      },
    ),
    { seed: 20260328, numRuns: 2000 },
  );
});

Deno.test("isCronSchedule: any text gets an answer, and one with a line break never a yes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      assert.equal(typeof isCronSchedule(text), "boolean");
      assert.ok(!isCronSchedule(`* * * * *\n${text}`));
    }),
    { seed: 20260328 },
  );
});
