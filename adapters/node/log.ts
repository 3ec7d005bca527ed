import { writeSync } from "node:fs";
import type { Log, LogLevel } from "../../core/ports/log.ts";
import { jsonLine, logRecord, readableLine } from "../log_record.ts";

/** How the log of a program is written. */
export interface NodeLogOptions {
  readonly stream: "stderr" | "stdout";
  /** One JSON object a line, for programs; else lines for people at a terminal. */
  readonly json: boolean;
  /** Wall clock, milliseconds since the epoch. */
  readonly now: () => number;
  /** The least level that is written; `info` unless told. */
  readonly level?: LogLevel;
  /** Takes a line with its end in place of the stream. */
  readonly write?: (line: string) => void;
}

const WEIGHTS: Readonly<Record<LogLevel, number>> = { info: 0, warn: 1, error: 2 };

/**
 * The log of a program. A line that cannot be written (a closed pipe, a full disk) is lost without a
 * sound: the agent's work is worth more than its log.
 */
export function createNodeLog(options: NodeLogOptions): Log {
  const descriptor = options.stream === "stderr" ? 2 : 1;
  const write = options.write ?? ((line) => writeAll(descriptor, line));
  const format = options.json ? jsonLine : readableLine;
  const least = WEIGHTS[options.level ?? "info"];
  return {
    write(level, event, message, fields) {
      if (WEIGHTS[level] < least) return;
      try {
        write(format(logRecord(options.now(), level, event, message, fields)) + "\n");
      } catch {
        // There is nowhere left to say so.
      }
    },
  };
}

/** Writes at once, so that the last line before an exit is not lost. */
function writeAll(descriptor: number, line: string): void {
  let bytes = new TextEncoder().encode(line);
  while (bytes.length > 0) bytes = bytes.subarray(writeSync(descriptor, bytes));
}
