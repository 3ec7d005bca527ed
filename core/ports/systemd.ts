import type { Result } from "../result.ts";

/** What systemd says of a unit; `unknown` where it could not be asked or knows no such unit. */
export type UnitState = "active" | "inactive" | "failed" | "activating" | "unknown";

/** A host program that did not do its work. */
export interface ProgramError {
  /** `missing`: no such program. `timeout`: ended after its limit. `failed`: a non-zero exit. */
  readonly code: "missing" | "timeout" | "failed";
  /** Absolute path of the program. */
  readonly program: string;
  /** For people: arguments, exit code and the last lines it printed. Never a secret. */
  readonly message: string;
}

/** The host's service manager. Fixed argument lists, no shell; every call has a time limit. */
export interface Systemd {
  unitState(unit: string): Promise<UnitState>;
  /** Queues the start and returns: a unit of type notify may need minutes to be active. */
  start(unit: string): Promise<Result<void, ProgramError>>;
  /** Queues the restart and returns. */
  restart(unit: string): Promise<Result<void, ProgramError>>;
  /** Stops the unit and waits for it. One that is not loaded counts as stopped. */
  stop(unit: string): Promise<Result<void, ProgramError>>;
  enable(unit: string): Promise<Result<void, ProgramError>>;
  /** A unit that does not exist counts as disabled. */
  disable(unit: string): Promise<Result<void, ProgramError>>;
  /** Begins an orderly restart of the machine and returns. */
  reboot(): Promise<Result<void, ProgramError>>;
  daemonReload(): Promise<Result<void, ProgramError>>;
  /** The last lines of the unit's log, oldest first, each with its time. */
  journal(unit: string, lines: number): Promise<Result<readonly string[], ProgramError>>;
}
