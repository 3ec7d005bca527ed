import { type Tally, tallyOf, withoutColors } from "./tally.ts";

/** What to run with `deno test`, and how. */
export interface DenoTestOptions {
  /** The folder with the project's deno.json. */
  readonly cwd: string;
  /** Test files or folders of them, below `cwd`. */
  readonly paths: readonly string[];
  /** Further arguments: permissions, coverage, `--parallel`. */
  readonly args: readonly string[];
  /** When it is over, the run is ended and counts as failed. */
  readonly timeoutMs: number;
  /** Takes what is worth reading, line by line. */
  readonly report: (line: string) => void;
}

const QUIET = /( \.\.\. ok( \(.*\))?|^running \d+ tests? from .*|^Check .*|^)$/;

/**
 * Runs `deno test` to its end and gives the true tally of it. The lines of tests that passed are
 * not reported; everything else is, while it happens.
 */
export async function denoTest(options: DenoTestOptions): Promise<Tally> {
  const { cwd, paths, args, timeoutMs, report } = options;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "--frozen", ...args, ...paths],
    cwd,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = setTimeout(() => {
    report(`ended after ${timeoutMs / 1000} s: ${paths.join(" ")} takes too long or hangs`);
    child.kill("SIGKILL");
  }, timeoutMs);
  try {
    const [output, , { code }] = await Promise.all([
      readLines(child.stdout, report),
      readLines(child.stderr, report),
      child.status,
    ]);
    return tallyOf(output, code);
  } finally {
    clearTimeout(timer);
  }
}

async function readLines(
  stream: ReadableStream<Uint8Array>,
  report: (line: string) => void,
): Promise<string> {
  const whole: string[] = [];
  const say = (line: string) => {
    whole.push(line);
    if (!QUIET.test(withoutColors(line))) report(line);
  };
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(say);
  }
  if (rest !== "") say(rest);
  return whole.join("\n");
}
