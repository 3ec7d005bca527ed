import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import type { Log, LogFields } from "../../core/ports/log.ts";
import { Secret } from "../../core/secret.ts";

/** A log to be tried out, at 2026-05-01T12:03:04.005Z. */
export interface LogUnderTest {
  readonly log: Log;
  /** What was written, a JSON object a line. */
  lines(): readonly JsonObject[];
}

/** The moment at which a {@link LogUnderTest} writes, milliseconds since the epoch. */
export const LOG_TIME = Date.UTC(2026, 4, 1, 12, 3, 4, 5);

const HIDDEN = "hunter2";

/** Registers the contract of the log port for one adapter; `subject` names it in the tests. */
export function logContract(subject: string, make: () => LogUnderTest): void {
  function check(behaviour: string, body: (test: LogUnderTest) => void): void {
    Deno.test(`${subject}: ${behaviour}`, () => body(make()));
  }

  /** The only line after one write with these fields. */
  function lineWith({ log, lines }: LogUnderTest, fields: unknown): JsonObject {
    log.write("info", "event", "message", fields as LogFields);
    assert.equal(lines().length, 1);
    return lines()[0] ?? {};
  }

  check("writes one line with time, level, event, message and fields", ({ log, lines }) => {
    log.write("info", "one", "first");
    log.write("warn", "two", "second", { step: 3, path: "/etc/x", list: [1, null, { a: true }] });
    log.write("error", "three", "third");
    const time = "2026-05-01T12:03:04.005Z";
    assert.deepEqual(lines(), [
      { time, level: "info", event: "one", message: "first" },
      {
        time,
        level: "warn",
        event: "two",
        message: "second",
        step: 3,
        path: "/etc/x",
        list: [1, null, { a: true }],
      },
      { time, level: "error", event: "three", message: "third" },
    ]);
  });

  check("leaves out a field without a value", (test) => {
    const line = lineWith(test, { none: undefined, zero: 0, nothing: null });
    assert.deepEqual(Object.keys(line).slice(4), ["zero", "nothing"]);
  });

  check("keeps a field that is named like a part of the line", (test) => {
    const line = lineWith(test, { time: 1, level: 2, event: 3, message: 4, field_time: 5 });
    assert.deepEqual([line["level"], line["event"], line["message"]], ["info", "event", "message"]);
    assert.equal(line["field_level"], 2);
    assert.equal(line["field_event"], 3);
    assert.equal(line["field_message"], 4);
    assert.equal(line["field_time"], 5);
    assert.equal(line["field_field_time"], 1);
  });

  check("prints a secret as [secret], wherever it is", (test) => {
    const secret = new Secret(HIDDEN);
    const line = lineWith(test, { token: secret, deep: { list: [secret] }, text: `a ${secret}` });
    assert.deepEqual(line["token"], "[secret]");
    assert.deepEqual(line["deep"], { list: ["[secret]"] });
    assert.equal(line["text"], "a [secret]");
    assert.ok(!JSON.stringify(test.lines()).includes(HIDDEN));
  });

  check("writes what the fields are now, not what they become", (test) => {
    const list = [1];
    const line = lineWith(test, { list });
    list.push(2);
    assert.deepEqual(line["list"], [1]);
    assert.deepEqual(test.lines()[0]?.["list"], [1]);
  });

  check("does not fail on a value that JSON cannot hold", (test) => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    const line = lineWith(test, { circle, big: 1n, fine: "yes" });
    assert.equal(line["circle"], "[unprintable]");
    assert.equal(line["big"], "[unprintable]");
    assert.equal(line["fine"], "yes");
  });

  check("cuts a very long string and says so", ({ log, lines }) => {
    const long = "x".repeat(100_000);
    log.write("info", "event", long, { long, deep: [{ long }] });
    assert.ok(JSON.stringify(lines()).length < 20_000);
    assert.match(String(lines()[0]?.["message"]), /^x{4096}… \(95904 more characters\)$/);
    assert.match(String(lines()[0]?.["long"]), /x… \(95904 more characters\)$/);
  });
}
