import assert from "node:assert/strict";
import fc from "fast-check";
import { retryAfterMs } from "../../../core/protocol/retry_after.ts";

const NOW = Date.parse("1994-11-06T08:49:37Z");

Deno.test("retryAfterMs: seconds, held to 1 s to 1 h", () => {
  const table: [string, number | null][] = [
    ["0", 1_000],
    ["1", 1_000],
    ["120", 120_000],
    [" 120 ", 120_000],
    ["3600", 3_600_000],
    ["3601", 3_600_000],
    ["9".repeat(400), 3_600_000],
    ["-1", null],
    ["+1", null],
    ["1.5", null],
    ["1e3", null],
    ["0x10", null],
    ["soon", null],
    ["", null],
    ["1, 2", null],
  ];
  for (const [value, expected] of table) {
    assert.equal(retryAfterMs({ "retry-after": value }, NOW), expected, value);
  }
  assert.equal(retryAfterMs({}, NOW), null);
});

Deno.test("retryAfterMs: a date counts against the answer's Date, else the corrected clock", () => {
  const date = "Sun, 06 Nov 1994 08:50:37 GMT";
  const table: [string, string | undefined, number | null][] = [
    [date, undefined, 60_000],
    ["Sunday, 06-Nov-94 08:50:37 GMT", undefined, 60_000],
    ["Sun Nov  6 08:50:37 1994", undefined, 60_000],
    [date, "Sun, 06 Nov 1994 08:50:07 GMT", 30_000],
    [date, "Sunday, 06-Nov-94 08:50:07 GMT", 30_000],
    [date, "yesterday", 60_000],
    [date, "", 60_000],
    ["Sun, 06 Nov 1994 08:49:37 GMT", undefined, 1_000],
    ["Sun, 06 Nov 1993 08:49:37 GMT", undefined, 1_000],
    ["Mon, 06 Nov 1995 08:49:37 GMT", undefined, 3_600_000],
    ["Sun, 06 Foo 1994 08:49:37 GMT", undefined, null],
    ["Sun, 06 Nov 1994 25:49:37 GMT", undefined, null],
    ["Sun, 06 Nov 1994 08:49:37", undefined, null],
    ["Sun, 06 Nov 1994 08:49:37 +0200", undefined, null],
    ["Sun, whatever 12", undefined, null],
    ["1994-11-06T08:50:37Z", undefined, null],
  ];
  for (const [value, sent, expected] of table) {
    const headers = { "retry-after": value, ...(sent === undefined ? {} : { date: sent }) };
    assert.equal(retryAfterMs(headers, NOW), expected, `${value} / ${sent}`);
  }
});

Deno.test("retryAfterMs: whatever a portal writes, the wait is none or 1 s to 1 h", () => {
  const header = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.integer().map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  );
  fc.assert(
    fc.property(header, header, (value, date) => {
      const ms = retryAfterMs({ "retry-after": value, date }, NOW);
      assert.ok(ms === null || (ms >= 1_000 && ms <= 3_600_000), `${value} ${ms}`);
    }),
    { seed: 14, numRuns: 500 },
  );
});
