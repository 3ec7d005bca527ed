import assert from "node:assert/strict";
import { LIMIT_MS, waitFor } from "./wait.ts";

/** The program's entries: the shipped one, and the lab's with keys that anybody can read. */
export type EntryFile = "cli/main.ts" | "cli/lab.ts";

/** One line of the log. */
export interface LogLine {
  readonly time: string;
  readonly level: string;
  readonly event: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

/** How a process ended: a code, or the signal that ended it. */
export interface Ended {
  readonly code: number;
  readonly signal: string | null;
}

/** The program as a process of its own. */
export interface Program {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The lines logged so far; fails on one that is no JSON object. */
  lines(): readonly LogLine[];
  /** How it ended; null while it runs. */
  end(): Ended | null;
  /** Waits for a line with this event; `after`: not among so many first lines. */
  event(name: string, after?: number): Promise<LogLine>;
  /** Calls `heard` with the number of whole lines on stderr, each time that it grows. */
  onLines(heard: (count: number) => void): void;
  kill(signal: Deno.Signal): void;
  /** Waits for the end. Fails, and kills it, when that does not come within `limitMs`. */
  ended(limitMs?: number): Promise<Ended>;
  /** SIGTERM, and the end it comes to. */
  stop(): Promise<Ended>;
}

const REPOSITORY = new URL("../../", import.meta.url).pathname;

/** The order to end is obeyed within 2 s; the rest is for a busy machine. */
const STOP_MS = 10_000;

/** How a program is started. */
export interface StartOptions {
  /** Variables beside those of the tests themselves. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether what it reaches counts as covered; the profile of each process takes a second to write. */
  readonly measured?: boolean;
}

/** Starts the program with the Deno that runs the tests. */
export function startProgram(
  entry: EntryFile,
  args: readonly string[],
  { env = {}, measured = false }: StartOptions = {},
): Program {
  const { DENO_COVERAGE_DIR: profiles, ...around } = Deno.env.toObject();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--frozen", "--no-check", "--no-prompt", "-A", entry, ...args],
    cwd: REPOSITORY,
    clearEnv: true,
    env: {
      ...around,
      ...(measured && profiles !== undefined ? { DENO_COVERAGE_DIR: profiles } : {}),
      ...env,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const texts = { stdout: "", stderr: "" };
  let heard: (count: number) => void = () => {};
  const reading = Promise.all([
    read(child.stdout, (text) => texts.stdout += text),
    read(child.stderr, (text) => {
      texts.stderr += text;
      if (text.includes("\n")) heard(wholeLines(texts.stderr).length);
    }),
  ]);
  let end: Ended | null = null;
  const ending = Promise.all([child.status, reading]).then(([{ code, signal }]) => {
    end = { code, signal };
  });

  const kill = (signal: Deno.Signal) => {
    try {
      child.kill(signal);
    } catch {
      // It ended by itself a moment ago; how, the caller learns from `ended`.
    }
  };
  const lines = () => wholeLines(texts.stderr).map((line) => parseLine(line));
  const program: Program = {
    pid: child.pid,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    lines,
    end: () => end,
    event(name, after = 0) {
      return waitFor(`the event ${name}`, () => {
        const found = lines().slice(after).find(({ event }) => event === name);
        if (found === undefined && end !== null) {
          throw new Error(`ended before the event ${name}:\n${texts.stderr}`);
        }
        return found;
      });
    },
    onLines(listener) {
      heard = listener;
      listener(wholeLines(texts.stderr).length);
    },
    kill,
    async ended(limitMs = LIMIT_MS) {
      const late = setTimeout(() => kill("SIGKILL"), limitMs);
      const began = performance.now();
      await ending;
      clearTimeout(late);
      assert.ok(performance.now() - began < limitMs, `did not end:\n${texts.stderr}`);
      return end ?? { code: -1, signal: null };
    },
    stop() {
      kill("SIGTERM");
      return program.ended(STOP_MS);
    },
  };
  return program;
}

/** Runs the program to its end. */
export async function runProgram(
  entry: EntryFile,
  args: readonly string[],
  options: StartOptions = {},
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const program = startProgram(entry, args, options);
  const { code } = await program.ended();
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}

/** The log lines of an output. */
export function parseLog(stderr: string): readonly LogLine[] {
  return wholeLines(stderr).map((line) => parseLine(line));
}

function parseLine(line: string): LogLine {
  const parsed = JSON.parse(line);
  for (const field of ["time", "level", "event", "message"]) {
    assert.equal(typeof parsed[field], "string", `a log line without '${field}': ${line}`);
  }
  return parsed;
}

function wholeLines(text: string): string[] {
  return text.split("\n").slice(0, -1);
}

async function read(
  stream: ReadableStream<Uint8Array>,
  take: (text: string) => void,
): Promise<void> {
  for await (const text of stream.pipeThrough(new TextDecoderStream())) take(text);
}
