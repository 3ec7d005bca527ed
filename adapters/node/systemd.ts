import type { Clock } from "../../core/ports/clock.ts";
import type { ProgramError, Systemd, UnitState } from "../../core/ports/systemd.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type ProgramExit, programFailed, type ProgramRun, runProgram } from "./program.ts";
import { createRoot } from "./root.ts";

type Verb =
  | "is-active"
  | "start"
  | "restart"
  | "stop"
  | "enable"
  | "disable"
  | "daemon-reload"
  | "reboot";

/** Limit of each systemctl call, milliseconds. Only `stop` waits for the unit itself. */
const TIMEOUT_MS: Readonly<Record<Verb, number>> = {
  "is-active": 10_000,
  "start": 30_000,
  "restart": 30_000,
  "stop": 120_000,
  "enable": 30_000,
  "disable": 30_000,
  "daemon-reload": 30_000,
  "reboot": 60_000,
};

const JOURNAL_ARGUMENTS = ["--output=short-iso", "--no-pager", "--quiet"];
const JOURNAL_TIMEOUT_MS = 30_000;
const JOURNAL_MAX_BYTES = 4 * 1_048_576;

/** What `is-active` prints, as the port has it. Other words are `unknown`. */
const STATES: Readonly<Record<string, UnitState>> = {
  active: "active",
  reloading: "active",
  refreshing: "active",
  inactive: "inactive",
  deactivating: "inactive",
  failed: "failed",
  activating: "activating",
};

/** A whole unit name with its type. A leading dash would be an option, so none is possible. */
const UNIT_NAME = /^[A-Za-z0-9_][A-Za-z0-9:_.@\\-]*\.(service|socket|target|timer|mount|path)$/;

/**
 * How systemctl (in English, by LANG) says that there is no such unit to stop or disable. The unit must
 * be the subject: a missing bus is "No such file or directory" too, and excuses nothing.
 */
const NO_SUCH_UNIT = /\bunit (?:file )?\S+ (?:not loaded|does not exist|not found)\b/i;

/** The host's systemd, through `<root>/usr/bin/systemctl` and `journalctl`. Throws a RangeError for what is no unit name. */
export function createNodeSystemd(
  options: { readonly root?: string; readonly clock: Clock },
): Systemd {
  const { clock } = options;
  const at = createRoot(options.root);
  const path = at("/usr/bin/systemctl");

  function command(verb: Verb, ...args: string[]): ProgramRun {
    return { path, args: [verb, ...args], timeoutMs: TIMEOUT_MS[verb], clock };
  }

  async function succeed(
    run: ProgramRun,
    excused: (exit: ProgramExit) => boolean = () => false,
  ): Promise<Result<void, ProgramError>> {
    const exit = await runProgram(run);
    if (!exit.ok) return exit;
    if (exit.value.code === 0 || excused(exit.value)) return ok(undefined);
    return fail(programFailed(run, exit.value));
  }

  const isNoSuchUnit = (exit: ProgramExit) => exit.code !== null && NO_SUCH_UNIT.test(exit.stderr);

  return {
    async unitState(unit) {
      const exit = await runProgram(command("is-active", unitName(unit)));
      // The exit code is non-zero for all but active, and differs between versions: the word counts.
      return exit.ok ? STATES[exit.value.stdout.trim()] ?? "unknown" : "unknown";
    },
    start: (unit) => succeed(command("start", unitName(unit), "--no-block")),
    restart: (unit) => succeed(command("restart", unitName(unit), "--no-block")),
    stop: (unit) => succeed(command("stop", unitName(unit)), isNoSuchUnit),
    enable: (unit) => succeed(command("enable", unitName(unit))),
    disable: (unit) => succeed(command("disable", unitName(unit)), isNoSuchUnit),
    reboot: () => succeed(command("reboot")),
    daemonReload: () => succeed(command("daemon-reload")),
    async journal(unit, lines) {
      const run: ProgramRun = {
        path: at("/usr/bin/journalctl"),
        args: [`--unit=${unitName(unit)}`, `--lines=${Math.trunc(lines)}`, ...JOURNAL_ARGUMENTS],
        timeoutMs: JOURNAL_TIMEOUT_MS,
        maxOutputBytes: JOURNAL_MAX_BYTES,
        clock,
      };
      const exit = await runProgram(run);
      if (!exit.ok) return exit;
      if (exit.value.code !== 0) return fail(programFailed(run, exit.value));
      return ok(exit.value.stdout.split("\n").filter((line) => line !== ""));
    },
  };
}

function unitName(unit: string): string {
  if (!UNIT_NAME.test(unit)) {
    throw new RangeError(`"${unit}" is no unit name: name it in full, for example k3s.service`);
  }
  return unit;
}
