const REPOSITORY = new URL("../../", import.meta.url).pathname;

/** How a run of a simulation ended. */
export interface Simulated {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A simulation as a process of its own. */
export interface Simulator {
  readonly pid: number;
  /** Resolves once stderr has these words; rejects where it ends without them. */
  said(words: RegExp): Promise<void>;
  kill(signal: Deno.Signal): void;
  end(): Promise<Simulated>;
}

/** Starts `simulate`, by default the lab's. */
export function startSimulator(args: readonly string[], entry = "cli/simulate.ts"): Simulator {
  const command = entry === "cli/main.ts" ? ["simulate"] : [];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--frozen", "--no-check", "--no-prompt", "-A", entry, ...command, ...args],
    cwd: REPOSITORY,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let stderr = "";
  let heard = () => {};
  const reading = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
      stderr += text;
      heard();
    }
    heard = () => {};
  })();
  const stdout = new Response(child.stdout).text();
  return {
    pid: child.pid,
    kill: (signal) => child.kill(signal),
    said: (words) =>
      new Promise((resolve, reject) => {
        const look = () => words.test(stderr) && resolve();
        heard = look;
        look();
        void reading.then(() => reject(new Error(`it ended and said: ${stderr}`)));
      }),
    async end() {
      const [{ code }, text] = await Promise.all([child.status, stdout, reading]);
      return { code, stdout: text, stderr };
    },
  };
}

/** Runs it to its end. */
export async function runSimulator(args: readonly string[], entry?: string): Promise<Simulated> {
  return await startSimulator(args, entry).end();
}
