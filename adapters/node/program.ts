import type { Clock } from "../../core/ports/clock.ts";
import type { ProgramError } from "../../core/ports/systemd.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { lined } from "./lined.ts";
import { readTail } from "./read_tail.ts";

/** One run of a host program. */
export interface ProgramRun {
  /** Absolute path; nothing is looked up on PATH. */
  readonly path: string;
  /** Arguments as the program gets them: there is no shell. Never a secret, they are public on a host. */
  readonly args: readonly string[];
  /** Limit of the run in milliseconds; then SIGTERM, and SIGKILL two seconds later. */
  readonly timeoutMs: number;
  /** How much of each output is kept, in bytes: the end of it. Default 64 KiB. */
  readonly maxOutputBytes?: number;
  /** Variables beside the fixed ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** Takes each line of both outputs as it comes, without its end; a long one in pieces. */
  readonly onLine?: (line: string) => void;
  readonly clock: Clock;
}

/** How a program ended by itself. Exactly one of `code` and `signal` is not null. */
export interface ProgramExit {
  readonly code: number | null;
  /** For example `SIGSEGV`. */
  readonly signal: string | null;
  /** The end of what it printed; bytes that are no UTF-8 are replaced. */
  readonly stdout: string;
  readonly stderr: string;
}

/** All that a program sees of the environment: nothing of the agent's own reaches it. */
const ENVIRONMENT = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C.UTF-8", HOME: "/root" };

const DEFAULT_OUTPUT_BYTES = 64 * 1024;

/** From SIGTERM to SIGKILL, and from SIGKILL to giving a process up that the kernel does not end. */
const KILL_AFTER_MS = 2_000;

/** How long outputs may stay open after the exit: a grandchild can hold them for ever. */
const DRAIN_MS = 500;

/** From the end of a program by a signal to this process having heard of its own. */
const TOLD_MS = 1_000;

/**
 * Runs a host program to its end. Any exit is a value, a non-zero one too: what it means is the caller's
 * to say. Errors: `missing`, `timeout`, and `failed` where the program could not be started.
 */
export async function runProgram(run: ProgramRun): Promise<Result<ProgramExit, ProgramError>> {
  const { clock, path } = run;
  const started = start(run);
  if (!started.ok) return started;
  const child = started.value;
  const max = run.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES;
  const drained = new AbortController();
  const stdout = readTail(lined(child.stdout, run.onLine), max, drained.signal);
  const stderr = readTail(lined(child.stderr, run.onLine), max, drained.signal);
  const ended = new AbortController();
  const status = child.status.finally(() => ended.abort());

  const inTime = await endsWithin(run.timeoutMs);
  if (!inTime) {
    kill(child, "SIGTERM");
    if (!await endsWithin(KILL_AFTER_MS)) {
      kill(child, "SIGKILL");
      if (!await endsWithin(KILL_AFTER_MS)) child.unref();
    }
  }
  const drain = new AbortController();
  const bothRead = Promise.all([stdout, stderr]).then(() => drain.abort());
  await clock.sleep(DRAIN_MS, drain.signal);
  drained.abort();
  await bothRead;

  if (!inTime) {
    const what = `${commandLine(run)} did not end within ${run.timeoutMs} ms and was stopped`;
    return fail({ code: "timeout", program: path, message: withOutput(what, await stderr) });
  }
  const { code, signal } = await status;
  // Where systemd ends a unit it ends all of its processes at once. The caller must hear first that the
  // agent ends, or it takes what became of its program for a failure.
  if (signal !== null) await clock.sleep(TOLD_MS);
  return ok({
    code: signal === null ? code : null,
    signal,
    stdout: await stdout,
    stderr: await stderr,
  });

  /** Waits for the end at most `ms`; whether it came. */
  async function endsWithin(ms: number): Promise<boolean> {
    await clock.sleep(ms, ended.signal);
    return ended.signal.aborted;
  }
}

/** The ProgramError of an exit that is no success. */
export function programFailed(
  run: Pick<ProgramRun, "path" | "args">,
  exit: ProgramExit,
): ProgramError {
  const how = exit.signal === null ? `exit code ${exit.code}` : `ended by ${exit.signal}`;
  const output = exit.stderr.trim() === "" ? exit.stdout : exit.stderr;
  return {
    code: "failed",
    program: run.path,
    message: withOutput(`${commandLine(run)}: ${how}`, output),
  };
}

function start(run: ProgramRun): Result<Deno.ChildProcess, ProgramError> {
  const { path } = run;
  try {
    const command = new Deno.Command(path, {
      args: [...run.args],
      clearEnv: true,
      env: { ...ENVIRONMENT, ...run.env },
      cwd: "/",
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
    return ok(command.spawn());
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) {
      return fail({ code: "missing", program: path, message: `${path} does not exist` });
    }
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return fail({ code: "failed", program: path, message: `${path} cannot be started: ${why}` });
  }
}

function kill(child: Deno.ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    child.kill(signal);
  } catch {
    // It ended in this moment, which is all that was wanted.
  }
}

function commandLine(run: Pick<ProgramRun, "path" | "args">): string {
  return [run.path, ...run.args].join(" ");
}

/** The last lines of an output, for a message. */
function withOutput(what: string, output: string): string {
  const lines = output.trim().split("\n").slice(-3).join("; ").slice(-500);
  return lines === "" ? what : `${what}: ${lines}`;
}
