import assert from "node:assert/strict";
import { insideWindow, nextWindow } from "../../../core/host/windows.ts";
import type { Maintenance } from "../../../core/protocol/desired_state.ts";

const DAILY = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

function maintenance(
  timezone: string,
  ...windows: [days: readonly (typeof DAILY)[number][], start: string, minutes: number][]
): Maintenance {
  return {
    timezone,
    windows: windows.map(([days, start, minutes]) => ({ days: [...days], start, minutes })),
  };
}

/** The window that is open or opens next at `now`, as times a person can read. */
function next(plan: Maintenance, now: string): [opens: string, closes: string] | null {
  const opening = nextWindow(plan, Date.parse(now));
  return opening === null
    ? null
    : [new Date(opening.opensAt).toISOString(), new Date(opening.closesAt).toISOString()];
}

function inside(plan: Maintenance, now: string): boolean {
  return insideWindow(plan, Date.parse(now));
}

Deno.test("insideWindow: is open from the start up to but without the end", () => {
  const plan = maintenance("Europe/Berlin", [["wed"], "03:00", 90]);
  assert.ok(!inside(plan, "2026-06-10T00:59:59.999Z"));
  assert.ok(inside(plan, "2026-06-10T01:00:00.000Z"));
  assert.ok(inside(plan, "2026-06-10T02:29:59.999Z"));
  assert.ok(!inside(plan, "2026-06-10T02:30:00.000Z"));
  assert.ok(!inside(plan, "2026-06-11T01:30:00.000Z"), "another day of the week");
});

Deno.test("insideWindow: without windows it is never open", () => {
  const plan = maintenance("Europe/Berlin");
  assert.ok(!inside(plan, "2026-06-10T01:00:00Z"));
  assert.equal(next(plan, "2026-06-10T01:00:00Z"), null);
});

Deno.test("insideWindow: a window runs on across midnight, into the week too", () => {
  const plan = maintenance("America/New_York", [["sun"], "23:30", 60]);
  assert.ok(inside(plan, "2026-06-08T03:30:00Z"));
  assert.ok(inside(plan, "2026-06-08T04:29:59Z"), "Monday 00:29 in New York");
  assert.ok(!inside(plan, "2026-06-08T04:30:00Z"));
  assert.ok(!inside(plan, "2026-06-08T00:15:00Z"), "Monday 00:15 in UTC only");
});

Deno.test("insideWindow: windows that touch leave no hole, whichever is named first", () => {
  const touching = [
    [["fri"], "22:00", 120],
    [["sat"], "00:00", 60],
  ] satisfies [(typeof DAILY)[number][], string, number][];
  for (const windows of [touching, touching.toReversed()]) {
    const plan = maintenance("Asia/Kolkata", ...windows);
    assert.ok(inside(plan, "2026-06-12T18:29:59.999Z"));
    assert.ok(inside(plan, "2026-06-12T18:30:00.000Z"));
    assert.ok(!inside(plan, "2026-06-12T19:30:00.000Z"));
  }
});

Deno.test("insideWindow: 24 hours on every day are always open, changes of the clocks excepted", () => {
  const plan = maintenance("Europe/Berlin", [DAILY, "00:00", 1440]);
  assert.ok(inside(plan, "2026-06-10T21:59:59.999Z"));
  assert.ok(inside(plan, "2026-03-29T12:00:00Z"));
  assert.ok(!inside(plan, "2026-10-25T22:30:00Z"), "the 25th hour of the day");
});

Deno.test("nextWindow: a start that the clocks skip moves by the gap, and keeps its length", () => {
  const plan = maintenance("Europe/Berlin", [["sun"], "02:30", 60]);
  assert.deepEqual(next(plan, "2026-03-28T12:00:00Z"), [
    "2026-03-29T01:30:00.000Z",
    "2026-03-29T02:30:00.000Z",
  ]);
});

Deno.test("nextWindow: a start that occurs twice means the first, and only that", () => {
  const plan = maintenance("Europe/Berlin", [["sun"], "02:30", 30]);
  assert.deepEqual(next(plan, "2026-10-24T12:00:00Z"), [
    "2026-10-25T00:30:00.000Z",
    "2026-10-25T01:00:00.000Z",
  ]);
  assert.ok(!inside(plan, "2026-10-25T01:30:00Z"));
});

Deno.test("nextWindow: a window over a change of the clocks lasts its minutes of elapsed time", () => {
  const plan = maintenance("America/New_York", [["sun"], "00:30", 180]);
  assert.deepEqual(next(plan, "2026-03-08T00:00:00Z"), [
    "2026-03-08T05:30:00.000Z",
    "2026-03-08T08:30:00.000Z",
  ]);
  assert.deepEqual(next(plan, "2026-11-01T00:00:00Z"), [
    "2026-11-01T04:30:00.000Z",
    "2026-11-01T07:30:00.000Z",
  ]);
});

Deno.test("insideWindow: a day's length over the hour that is skipped reaches the day after next", () => {
  const plan = maintenance("Europe/Berlin", [["sat"], "23:30", 1440]);
  assert.ok(inside(plan, "2026-03-29T22:29:59.999Z"), "Monday 00:29 in Berlin");
  assert.ok(!inside(plan, "2026-03-29T22:30:00.000Z"));
});

Deno.test("nextWindow: half an hour of summer time is no exception", () => {
  const plan = maintenance("Australia/Lord_Howe", [["sun"], "02:15", 10]);
  assert.equal(next(plan, "2026-10-03T12:00:00Z")?.[0], "2026-10-03T15:45:00.000Z");
});

Deno.test("nextWindow: a day that a zone leaves out moves to the next", () => {
  const plan = maintenance("Pacific/Apia", [["fri"], "12:00", 60]);
  assert.equal(next(plan, "2011-12-29T12:00:00Z")?.[0], "2011-12-30T22:00:00.000Z");
  assert.ok(inside(plan, "2011-12-30T22:30:00Z"));
});

Deno.test("nextWindow: is the open one until it closes, then that of the next week", () => {
  const plan = maintenance("UTC", [["tue"], "04:00", 1]);
  assert.equal(next(plan, "2026-06-09T04:00:59.999Z")?.[0], "2026-06-09T04:00:00.000Z");
  assert.equal(next(plan, "2026-06-09T04:01:00.000Z")?.[0], "2026-06-16T04:00:00.000Z");
});

Deno.test("nextWindow: of several windows it is the one that opens first", () => {
  const plan = maintenance("UTC", [["tue"], "05:00", 30], [["tue"], "04:00", 120]);
  assert.equal(next(plan, "2026-06-09T03:00:00Z")?.[0], "2026-06-09T04:00:00.000Z");
  assert.equal(next(plan, "2026-06-09T05:15:00Z")?.[0], "2026-06-09T04:00:00.000Z");
});
