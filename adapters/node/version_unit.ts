import * as fs from "node:fs/promises";
import type { Clock } from "../../core/ports/clock.ts";
import type { ProgramError } from "../../core/ports/systemd.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type ProgramExit, programFailed, type ProgramRun, runProgram } from "./program.ts";

/** How a program is run by systemd. */
export interface VersionUnitOptions {
  readonly clock: Clock;
  /** Limit of the program, milliseconds. */
  readonly timeoutMs: number;
  /** systemd's control program. */
  readonly systemctl?: string;
  /** Where units that the next boot forgets live. */
  readonly units?: string;
  /** A folder of its own for what the program prints, in memory: a full disk must not cut it. */
  readonly outputs?: string;
}

const UNIT = "pbx-agent-version.service";
/** Beyond the program's own limit, for systemd. */
const PATIENCE_MS = 20_000;
const MAX_BYTES = 64 * 1024;

/** What systemd says of a unit whose program is to blame (`Result`, systemd.exec(5)). */
const TO_BLAME = /^Result=(exit-code|signal|core-dump|timeout|oom-kill|protocol|watchdog)$/m;

/**
 * Has systemd run `<path> version` and gives what it prints. The agent itself cannot: the runtime lets no
 * program run what it may write, and a new program is written by it. The unit is forgotten afterwards.
 *
 * The error's `program` is the path where the program is to blame, and systemctl's where systemd is.
 */
export async function versionByUnit(
  path: string,
  options: VersionUnitOptions,
): Promise<Result<string, ProgramError>> {
  const {
    clock,
    timeoutMs,
    systemctl = "/usr/bin/systemctl",
    units = "/run/systemd/system",
    outputs = "/run/pbx-agent-version",
  } = options;
  if (!/^[A-Za-z0-9/._-]+$/.test(path)) throw new RangeError(`${path} cannot stand in a unit`);
  const file = `${units}/${UNIT}`;

  function command(...args: string[]): ProgramRun {
    return { path: systemctl, args, timeoutMs: timeoutMs + PATIENCE_MS, clock };
  }

  async function asked(...args: string[]): Promise<Result<ProgramExit, ProgramError>> {
    const run = command(...args);
    const exit = await runProgram(run);
    return !exit.ok || exit.value.code === 0 ? exit : fail(programFailed(run, exit.value));
  }

  async function started(): Promise<Result<string, ProgramError>> {
    const reloaded = await asked("daemon-reload");
    if (!reloaded.ok) return reloaded;
    // Returns when the program has ended.
    const start = await asked("start", UNIT);
    const printed = async (name: string) =>
      new TextDecoder().decode((await fs.readFile(`${outputs}/${name}`)).subarray(0, MAX_BYTES));
    if (start.ok) return ok(await printed("out"));
    const state = await asked("show", UNIT, "--property=Result,ExecMainCode,ExecMainStatus");
    if (!state.ok || !TO_BLAME.test(state.value.stdout)) return start;
    const said = (await printed("err").catch(() => "")).trim().split("\n").slice(-3).join("; ");
    const how = state.value.stdout.trim().split("\n").join(" ");
    const message = `${path} version: ${how}${said === "" ? "" : `: ${said.slice(-500)}`}`;
    return fail({ code: "failed", program: path, message });
  }

  try {
    if (!(await fs.stat(path).catch(() => null))?.isFile()) {
      return fail({ code: "missing", program: path, message: `${path} does not exist` });
    }
    await fs.rm(outputs, { recursive: true, force: true });
    await fs.mkdir(outputs, { mode: 0o700 });
    await fs.writeFile(file, unitText(path, timeoutMs, outputs));
    return await started();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    return fail({ code: "failed", program: systemctl, message: `${UNIT}: ${why}` });
  } finally {
    await fs.rm(file, { force: true }).catch(() => {});
    await fs.rm(outputs, { recursive: true, force: true }).catch(() => {});
    await asked("daemon-reload");
    await asked("reset-failed", UNIT);
  }
}

function unitText(path: string, timeoutMs: number, outputs: string): string {
  return `[Unit]
Description=Asks a new pbx-agent for its version

[Service]
Type=oneshot
ExecStart=${path} version
TimeoutStartSec=${Math.ceil(timeoutMs / 1000)}
StandardOutput=truncate:${outputs}/out
StandardError=truncate:${outputs}/err
`;
}
