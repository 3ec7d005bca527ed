import type { ProgramError, Systemd, UnitState } from "../../core/ports/systemd.ts";
import { fail, ok, type Result } from "../../core/result.ts";

const PROGRAM = "/usr/bin/systemctl";

/** One unit of the fake host. A test changes it at will. */
export interface FakeUnit {
  state: UnitState;
  enabled: boolean;
}

/** A service manager in memory. */
export interface FakeSystemd extends Systemd {
  /** By full name, for example `k3s.service`. What is not in it does not exist. */
  readonly units: Map<string, FakeUnit>;
  /** Every call that may change something, in order, for example `start k3s.service`. */
  readonly calls: readonly string[];
  /** The log of each unit, oldest line first. */
  readonly logs: Map<string, string[]>;
  /** The next call that may change something fails so. */
  failNext(code: ProgramError["code"]): void;
}

/** What the fake host is made of. */
export interface FakeSystemdOptions {
  readonly units?: Readonly<Record<string, Partial<FakeUnit>>>;
  /** State of a unit after start and restart: `activating` where a test wants to decide the rest. */
  readonly stateAfterStart?: UnitState;
}

/** A service manager in memory; units start as inactive and disabled unless said otherwise. */
export function createFakeSystemd(options: FakeSystemdOptions = {}): FakeSystemd {
  const units = new Map<string, FakeUnit>();
  for (const [name, unit] of Object.entries(options.units ?? {})) {
    units.set(name, { state: "inactive", enabled: false, ...unit });
  }
  const calls: string[] = [];
  const logs = new Map<string, string[]>();
  let failure: ProgramError["code"] | null = null;

  /** Notes the call, and does the work unless a failure is due. */
  function call(
    words: string,
    work: () => Result<void, ProgramError>,
  ): Promise<Result<void, ProgramError>> {
    calls.push(words);
    const code = failure;
    failure = null;
    return Promise.resolve(code === null ? work() : refused(code, words, "scripted failure"));
  }

  function change(unit: string, verb: string, by: (unit: FakeUnit) => void, mustExist: boolean) {
    return call(`${verb} ${unit}`, () => {
      const found = units.get(unit);
      if (found !== undefined) by(found);
      if (found !== undefined || !mustExist) return ok(undefined);
      return refused("failed", `${verb} ${unit}`, `unit ${unit} not found`);
    });
  }

  const up = (unit: FakeUnit) => void (unit.state = options.stateAfterStart ?? "active");

  return {
    units,
    calls,
    logs,
    failNext: (code) => {
      failure = code;
    },
    unitState: (unit) => Promise.resolve(units.get(unit)?.state ?? "unknown"),
    start: (unit) => change(unit, "start", up, true),
    restart: (unit) => change(unit, "restart", up, true),
    stop: (unit) => change(unit, "stop", (found) => void (found.state = "inactive"), false),
    enable: (unit) => change(unit, "enable", (found) => void (found.enabled = true), true),
    disable: (unit) => change(unit, "disable", (found) => void (found.enabled = false), false),
    reboot: () => call("reboot", () => ok(undefined)),
    daemonReload: () => call("daemon-reload", () => ok(undefined)),
    journal: (unit, lines) => Promise.resolve(ok((logs.get(unit) ?? []).slice(-lines))),
  };
}

function refused(
  code: ProgramError["code"],
  words: string,
  why: string,
): Result<void, ProgramError> {
  return fail({ code, program: PROGRAM, message: `${PROGRAM} ${words}: ${why}` });
}
