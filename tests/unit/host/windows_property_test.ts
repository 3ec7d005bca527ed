import assert from "node:assert/strict";
import fc from "fast-check";
import {
  insideWindow,
  nextWindow,
  type Opening,
  openWindowSearch,
} from "../../../core/host/windows.ts";
import {
  type Maintenance,
  type MaintenanceWindow,
  WEEKDAYS,
} from "../../../core/protocol/desired_state.ts";
import { watchedOpenings, watchWallClock } from "./minute_oracle.ts";

const SEED = 20260329;
const MINUTE = 60_000;
const DAY = 86_400_000;
const WEEK_MINUTES = 7 * 24 * 60;

function hhmm(minuteOfDay: number): string {
  const [hour, minute] = [Math.floor(minuteOfDay / 60), minuteOfDay % 60];
  return `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
}

function dayAfter(day: (typeof WEEKDAYS)[number]): (typeof WEEKDAYS)[number] {
  return WEEKDAYS[WEEKDAYS.indexOf(day) + 1] ?? "mon";
}

/** A window whose start and length are multiples of `grid` minutes; often it starts at night. */
function window(grid: number): fc.Arbitrary<MaintenanceWindow> {
  const steps = 1440 / grid;
  return fc.record({
    days: fc.uniqueArray(fc.constantFrom(...WEEKDAYS), { minLength: 1 }),
    start: fc.oneof(fc.nat(steps - 1), fc.nat(Math.floor(steps / 6))).map((n) => hhmm(n * grid)),
    minutes: fc.integer({ min: 1, max: steps }).map((n) => n * grid),
  });
}

function windows(grid: number): fc.Arbitrary<MaintenanceWindow[]> {
  return fc.array(window(grid), { minLength: 1, maxLength: 4 });
}

/** What `nextWindow` says where it has to say something. */
function upcoming(maintenance: Maintenance, now: number): Opening {
  const next = nextWindow(maintenance, now);
  assert.ok(next !== null);
  return next;
}

/** Weeks in which something happens to the clocks of a zone, and weeks in which nothing does. */
const WEEKS: readonly [timeZone: string, middle: string][] = [
  ["Europe/Berlin", "2026-03-29T01:00:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00:00Z"],
  ["America/New_York", "2026-03-08T07:00:00Z"],
  ["America/New_York", "2026-11-01T06:00:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30:00Z"],
  ["Pacific/Apia", "2011-12-30T10:00:00Z"],
  ["Asia/Kolkata", "2026-06-10T00:00:00Z"],
  ["UTC", "1970-01-01T00:00:00Z"],
];

for (const [timezone, middle] of WEEKS) {
  Deno.test(`insideWindow, nextWindow: agree with watching the clock, ${timezone} around ${middle}`, () => {
    const change = Date.parse(middle);
    const [from, until] = [change - 3 * DAY, change + 3 * DAY];
    const clock = watchWallClock(timezone, from - 4 * DAY, until + 9 * DAY);
    const nearChange = fc.integer({ min: -180 * MINUTE, max: 180 * MINUTE }).map((n) => change + n);
    const anywhere = fc.integer({ min: from, max: until });
    fc.assert(
      fc.property(
        windows(1),
        fc.array(fc.oneof(nearChange, anywhere), { minLength: 12, maxLength: 12 }),
        (windows, moments) => {
          const maintenance = { timezone, windows };
          const openings = watchedOpenings(clock, windows);
          const edges = openings
            .flatMap(({ opensAt, closesAt }) => [opensAt - 1, opensAt, closesAt - 1, closesAt])
            .filter((at) => Math.abs(at - change) < DAY);
          for (const now of [...moments, ...edges]) {
            const open = openings.some((o) => o.opensAt <= now && now < o.closesAt);
            assert.equal(insideWindow(maintenance, now), open, new Date(now).toISOString());
            const expected = openings.find((o) => o.closesAt > now);
            const next = nextWindow(maintenance, now);
            assert.equal(next?.opensAt, expected?.opensAt, new Date(now).toISOString());
          }
        },
      ),
      { seed: SEED, numRuns: 10 },
    );
  });
}

Deno.test("insideWindow: over a week without a change it is open as long as its windows' union", () => {
  const grid = 30;
  const start = Date.parse("2026-06-08T00:00:00Z");
  fc.assert(
    fc.property(
      windows(grid),
      fc.constantFrom("Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"),
      (windows, timezone) => {
        const union = new Set<number>();
        for (const { days, start, minutes } of windows) {
          for (const day of days) {
            const opens = WEEKDAYS.indexOf(day) * 1440 + Number(start.slice(0, 2)) * 60 +
              Number(start.slice(3));
            for (let at = opens; at < opens + minutes; at += grid) union.add(at % WEEK_MINUTES);
          }
        }
        let open = 0;
        for (let at = 0; at < WEEK_MINUTES; at += grid) {
          if (insideWindow({ timezone, windows }, start + at * MINUTE)) open++;
        }
        assert.equal(open, union.size);
      },
    ),
    { seed: SEED, numRuns: 10 },
  );
});

Deno.test("insideWindow: a window cut in two at any minute is the same window", () => {
  const monday = Date.parse("2026-06-08T00:00:00Z");
  fc.assert(
    fc.property(
      fc.constantFrom(...WEEKDAYS),
      fc.nat(1439),
      fc.integer({ min: 2, max: 1440 }),
      fc.nat(),
      fc.constantFrom("Europe/Berlin", "Australia/Lord_Howe", "UTC"),
      (day, start, minutes, at, timezone) => {
        const cut = 1 + at % (minutes - 1);
        const second = start + cut;
        const halves: Maintenance = {
          timezone,
          windows: [
            {
              days: [second < 1440 ? day : dayAfter(day)],
              start: hhmm(second % 1440),
              minutes: minutes - cut,
            },
            { days: [day], start: hhmm(start), minutes: cut },
          ],
        };
        const whole: Maintenance = {
          timezone,
          windows: [{ days: [day], start: hhmm(start), minutes }],
        };
        const { opensAt, closesAt } = upcoming(whole, monday);
        const seam = opensAt + cut * MINUTE;
        for (const now of [opensAt - 1, opensAt, seam - 1, seam, closesAt - 1, closesAt]) {
          assert.equal(insideWindow(halves, now), insideWindow(whole, now));
        }
      },
    ),
    { seed: SEED, numRuns: 200 },
  );
});

Deno.test("nextWindow: it opens at the moment it names, not a millisecond before, within 8 days", () => {
  fc.assert(
    fc.property(
      window(1),
      fc.constantFrom(...Intl.supportedValuesOf("timeZone")),
      fc.integer({ min: Date.parse("2024-01-01"), max: Date.parse("2034-01-01") }),
      (window, timezone, now) => {
        const maintenance = { timezone, windows: [window] };
        const { opensAt, closesAt } = upcoming(maintenance, now);
        assert.ok(closesAt > now && opensAt < now + 8 * DAY);
        assert.equal(closesAt - opensAt, window.minutes * MINUTE);
        assert.ok(insideWindow(maintenance, opensAt));
        // Shorter than any day is, so that yesterday's window cannot cover the moment before.
        if (window.minutes < 20 * 60) assert.ok(!insideWindow(maintenance, opensAt - 1));
      },
    ),
    { seed: SEED, numRuns: 500 },
  );
});

Deno.test("openWindowSearch: says what nextWindow says, in whatever order it is asked", () => {
  const step = fc.record({ which: fc.nat(1), minutes: fc.integer({ min: -3 * 1440, max: 1440 }) });
  fc.assert(
    fc.property(
      fc.constantFrom(...WEEKS),
      fc.tuple(windows(15), fc.array(window(15), { maxLength: 2 })),
      fc.array(step, { maxLength: 20 }),
      ([timezone, middle], plans, steps) => {
        const search = openWindowSearch();
        const maintenances = plans.map((windows) => ({ timezone, windows }));
        let now = Date.parse(middle);
        for (const { which, minutes } of steps) {
          now += minutes * MINUTE;
          const maintenance = maintenances[which] as Maintenance;
          assert.deepEqual(search(maintenance, now), nextWindow(maintenance, now));
        }
      },
    ),
    { seed: SEED, numRuns: 100 },
  );
});
