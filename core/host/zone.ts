const DAY = 86_400_000;

/**
 * A time zone as two functions between instants and wall-clock time. Wall-clock time is held as the
 * milliseconds since the epoch that it would be in UTC, so that days and minutes are plain arithmetic.
 */
export interface Zone {
  /** What clocks in the zone show at `instant` (milliseconds since the epoch). */
  wallClock(instant: number): number;
  /**
   * The instant at which clocks in the zone show `wallClock`. A time that occurs twice means the first
   * one; a time that is skipped is read with the offset before the gap, and so moves by the gap's length
   * (RFC 5545 §3.3.5).
   */
  instant(wallClock: number): number;
}

/**
 * The zone of an IANA name, by the runtime's own time zone database. Making one costs about 0.1 ms, a
 * conversion a hundredth of that, so callers make one where they need it and keep none.
 *
 * @throws RangeError for a name that the runtime does not know (see `isTimeZone`).
 */
export function createZone(timeZone: string): Zone {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });

  function offsetAt(instant: number): number {
    const seconds = Math.floor(instant / 1000) * 1000;
    const field: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const part of format.formatToParts(seconds)) field[part.type] = Number(part.value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = field;
    return Date.UTC(year, month - 1, day, hour, minute, second) - seconds;
  }

  return {
    wallClock: (instant) => instant + offsetAt(instant),

    instant(wallClock) {
      // A day exceeds every offset, so these two lie on either side of whatever change there may be.
      const before = wallClock - offsetAt(wallClock - DAY);
      const after = wallClock - offsetAt(wallClock + DAY);
      if (before === after) return before;
      const shown = [before, after].filter((at) => at + offsetAt(at) === wallClock);
      return shown.length === 0 ? before : Math.min(...shown);
    },
  };
}
