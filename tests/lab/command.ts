/** What a command left behind. */
export interface CommandOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a command is run. */
export interface CommandOptions {
  /** After this many milliseconds the command is killed and the call throws. */
  readonly timeoutMs?: number;
  /** What the command reads on its standard input; nothing when absent. */
  readonly stdin?: string | Uint8Array;
  /** Variables beside the inherited ones. */
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * Runs a program of the host to its end. A non-zero exit is a result; a program that is missing or
 * takes longer than `timeoutMs` throws.
 */
export async function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandOutput> {
  const child = new Deno.Command(program, {
    args: [...args],
    stdin: options.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  }).spawn();
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill("SIGKILL");
  }, timeoutMs);
  try {
    const [output] = await Promise.all([child.output(), feed(child, options.stdin)]);
    if (timedOut) {
      throw new Error(`${describe(program, args)} was killed: it ran longer than ${timeoutMs} ms`);
    }
    const decoder = new TextDecoder();
    return {
      code: output.code,
      stdout: decoder.decode(output.stdout),
      stderr: decoder.decode(output.stderr),
    };
  } finally {
    clearTimeout(timer);
  }
}

/** Runs a program that has to succeed and gives what it printed on stdout; throws with its stderr. */
export async function mustRun(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const output = await runCommand(program, args, options);
  if (output.code !== 0) {
    const said = (output.stderr.trim() || output.stdout.trim()).slice(-2_000);
    throw new Error(`${describe(program, args)} ended with ${output.code}: ${said}`);
  }
  return output.stdout;
}

/** Whether a program of that name stands on PATH. */
export async function onPath(program: string): Promise<boolean> {
  const output = await runCommand("/bin/sh", ["-c", 'command -v "$1"', "sh", program]);
  return output.code === 0;
}

async function feed(child: Deno.ChildProcess, stdin: string | Uint8Array | undefined) {
  if (stdin === undefined) return;
  const bytes = typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin;
  const writer = child.stdin.getWriter();
  try {
    await writer.write(bytes);
    await writer.close();
  } catch (error) {
    // A command may end without having read everything; its exit code says what that meant.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

function describe(program: string, args: readonly string[]): string {
  return [program, ...args].join(" ").slice(0, 300);
}
