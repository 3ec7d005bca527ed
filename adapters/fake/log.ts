import type { Log } from "../../core/ports/log.ts";
import { type LogRecord, logRecord, readableLine } from "../log_record.ts";

/** A log that remembers. */
export interface FakeLog extends Log {
  /** The lines so far, oldest first. */
  records(): readonly LogRecord[];
  /** The lines of one event. */
  of(event: string): readonly LogRecord[];
  /** Everything as text for people, one line each: to search for what must not be in it. */
  text(): string;
  /** Forgets the lines so far. */
  forget(): void;
}

/** How a fake log behaves. */
export interface FakeLogOptions {
  /** Wall clock, milliseconds since the epoch; 0 unless told. */
  readonly now?: () => number;
  /** Takes each line for people too, without its end. */
  readonly print?: (line: string) => void;
  /** Lines to remember at most (the last ones); all unless told. */
  readonly keep?: number;
}

/** A log for tests, the demo and simulations. */
export function createFakeLog(options: FakeLogOptions = {}): FakeLog {
  const now = options.now ?? (() => 0);
  const keep = options.keep ?? Infinity;
  const records: LogRecord[] = [];
  return {
    write(level, event, message, fields) {
      const record = logRecord(now(), level, event, message, fields);
      records.push(record);
      if (records.length > keep) records.shift();
      options.print?.(readableLine(record));
    },
    records: () => [...records],
    of: (event) => records.filter((record) => record.event === event),
    text: () => records.map((record) => `${readableLine(record)}\n`).join(""),
    forget() {
      records.length = 0;
    },
  };
}
