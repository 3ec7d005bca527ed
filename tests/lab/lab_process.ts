/** A program of the host that runs beside a test. */
export interface LabProcess {
  readonly pid: number;
  /** Whole lines printed so far, without line ends. */
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  /** The exit code, once it ended. */
  readonly exited: Promise<number>;
  /** The first line of stdout, printed already or yet to come, that `matches`. */
  waitForLine(matches: (line: string) => boolean, timeoutMs?: number): Promise<string>;
  /** Sends a signal (SIGTERM), after 5 s SIGKILL, and waits for the end. Repeats are harmless. */
  stop(signal?: Deno.Signal): Promise<number>;
}

/** How a lab process is started. */
export interface LabProcessOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

const KILL_AFTER_MS = 5_000;

/** Starts a program of the host and collects what it prints. */
export function startLabProcess(
  program: string,
  args: readonly string[],
  options: LabProcessOptions = {},
): LabProcess {
  const child = new Deno.Command(program, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  }).spawn();
  const stdout: string[] = [];
  const stderr: string[] = [];
  const watchers = new Set<() => void>();
  const wake = () => watchers.forEach((watcher) => watcher());
  const readers = Promise.all([
    collectLines(child.stdout, stdout, wake),
    collectLines(child.stderr, stderr, wake),
  ]);
  let ended = false;
  const exited = (async () => {
    const status = await child.status;
    await readers;
    ended = true;
    wake();
    return status.code;
  })();

  function waitForLine(matches: (line: string) => boolean, timeoutMs = 30_000): Promise<string> {
    return new Promise((resolve, reject) => {
      let next = 0;
      const finish = (settle: () => void) => {
        watchers.delete(look);
        clearTimeout(timer);
        settle();
      };
      const giveUp = (why: string) => {
        const said = stderr.slice(-20).join("\n");
        finish(() => reject(new Error(`${program} ${why} before the awaited line\n${said}`)));
      };
      const timer = setTimeout(
        () => giveUp(`printed nothing fitting for ${timeoutMs} ms`),
        timeoutMs,
      );
      const look = () => {
        for (; next < stdout.length; next++) {
          const line = stdout[next];
          if (line !== undefined && matches(line)) return finish(() => resolve(line));
        }
        if (ended) giveUp("ended");
      };
      watchers.add(look);
      look();
    });
  }

  async function stop(signal: Deno.Signal = "SIGTERM"): Promise<number> {
    if (ended) return await exited;
    trySignal(child, signal);
    const timer = setTimeout(() => trySignal(child, "SIGKILL"), KILL_AFTER_MS);
    const code = await exited;
    clearTimeout(timer);
    return code;
  }

  return { pid: child.pid, stdout, stderr, exited, waitForLine, stop };
}

function trySignal(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It ended in between.
  }
}

async function collectLines(
  stream: ReadableStream<Uint8Array>,
  lines: string[],
  wake: () => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
    if (parts.length > 0) wake();
  }
  if (rest !== "") lines.push(rest);
}
