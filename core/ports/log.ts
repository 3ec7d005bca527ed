import type { JsonValue } from "../json.ts";

/** How much a line matters: `info` for what happened, `warn` for trouble, `error` for what needs somebody. */
export type LogLevel = "info" | "warn" | "error";

/**
 * The log. `event` is a stable snake_case name for programs, `message` says what happened and why, for
 * people. Fields hold no secret: a `Secret` prints as `[secret]`.
 */
export interface Log {
  write(level: LogLevel, event: string, message: string, fields?: LogFields): void;
}

/** Facts of one line. */
export type LogFields = Readonly<Record<string, JsonValue | undefined>>;
