import assert from "node:assert/strict";
import fc from "fast-check";
import { createZone } from "../../../core/host/zone.ts";

const SEED = 20260329;
const MINUTE = 60_000;

/** The little of Temporal that serves as the independent witness here. */
interface TemporalWitness {
  readonly PlainDateTime: {
    from(text: string): {
      toZonedDateTime(
        zone: string,
        options: { disambiguation: "compatible" },
      ): { readonly epochMilliseconds: number };
    };
  };
}

const temporal = (globalThis as { Temporal?: TemporalWitness }).Temporal;

function witnessed(timeZone: string, wallClock: number): number | undefined {
  return temporal?.PlainDateTime.from(new Date(wallClock).toISOString().slice(0, -1))
    .toZonedDateTime(timeZone, { disambiguation: "compatible" }).epochMilliseconds;
}

const ZONES = Intl.supportedValuesOf("timeZone");

Deno.test({
  name: "createZone: instants are those of Temporal, in every zone",
  ignore: temporal === undefined,
  fn: () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.integer({ min: Date.parse("1990-01-01"), max: Date.parse("2037-12-31") }),
        (timeZone, wallClock) => {
          assert.equal(createZone(timeZone).instant(wallClock), witnessed(timeZone, wallClock));
        },
      ),
      { seed: SEED, numRuns: 2000 },
    );
  },
});

Deno.test({
  name:
    "createZone: instants are those of Temporal, minute by minute through changes of the clocks",
  ignore: temporal === undefined,
  fn: () => {
    for (
      const [timeZone, wallClock] of [
        ["Europe/Berlin", "2026-03-29T02:00Z"],
        ["Europe/Berlin", "2026-10-25T03:00Z"],
        ["America/New_York", "2026-03-08T02:00Z"],
        ["America/New_York", "2026-11-01T02:00Z"],
        ["Australia/Lord_Howe", "2026-04-05T02:00Z"],
        ["Australia/Lord_Howe", "2026-10-04T02:00Z"],
        ["Pacific/Apia", "2011-12-30T00:00Z"],
        ["Antarctica/Troll", "2026-03-29T01:00Z"],
      ] as const
    ) {
      const zone = createZone(timeZone);
      const change = Date.parse(wallClock);
      for (let shown = change - 180 * MINUTE; shown <= change + 180 * MINUTE; shown += MINUTE) {
        assert.equal(
          zone.instant(shown),
          witnessed(timeZone, shown),
          `${timeZone} ${new Date(shown).toISOString()}`,
        );
      }
    }
  },
});

Deno.test("createZone: what clocks show at an instant leads back to it, or to an hour that was the same", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ZONES),
      fc.integer({ min: Date.parse("1990-01-01"), max: Date.parse("2037-12-31") }),
      (timeZone, instant) => {
        const zone = createZone(timeZone);
        const shown = zone.wallClock(instant);
        const back = zone.instant(shown);
        assert.ok(back <= instant);
        assert.equal(zone.wallClock(back), shown);
      },
    ),
    { seed: SEED, numRuns: 500 },
  );
});

Deno.test("createZone: knows offsets of half and quarter hours and fractions of seconds", () => {
  const at = Date.parse("2026-06-10T12:00:00.250Z");
  assert.equal(createZone("UTC").wallClock(at), at);
  assert.equal(createZone("Asia/Kolkata").wallClock(at), at + 330 * MINUTE);
  assert.equal(createZone("Asia/Kathmandu").wallClock(at), at + 345 * MINUTE);
  assert.equal(createZone("America/St_Johns").wallClock(at), at - 150 * MINUTE);
});

Deno.test("createZone: an unknown zone is an error", () => {
  assert.throws(() => createZone("Mars/Olympus"), RangeError);
});
