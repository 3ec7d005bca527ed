/** A process of the demo, run from the sources with this very Deno. */
export interface DemoProcess {
  /** The first line that it prints on stdout. */
  firstLine(): Promise<string>;
  /** Everything that it has printed so far on stdout and stderr. */
  output(): string;
  /** Everything that it prints until it ends by itself. */
  wholeOutput(): Promise<string>;
  /** Sends the signal and waits; gives the exit code, or the name of the signal that ended it. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<string>;
}

/** Starts `deno run` with `args`: a module of the project and its arguments. */
export function startProcess(args: readonly string[]): DemoProcess {
  const [module = "", ...rest] = args;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--frozen",
      "--no-check",
      new URL(`../../${module}`, import.meta.url).href,
      ...rest,
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const texts = { stdout: "", stderr: "" };
  const reading = Promise.all([
    read(child.stdout, (text) => texts.stdout += text),
    read(child.stderr, (text) => texts.stderr += text),
  ]);
  let status: Deno.CommandStatus | null = null;
  const ended = child.status.then((end) => status = end);

  return {
    async firstLine() {
      while (!texts.stdout.includes("\n")) {
        if (status !== null) throw new Error(`${module} ended at once: ${texts.stderr}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return texts.stdout.split("\n")[0] ?? "";
    },
    output: () => texts.stdout + texts.stderr,
    async wholeOutput() {
      await ended;
      await reading;
      return texts.stdout + texts.stderr;
    },
    async end(signal) {
      if (status === null) child.kill(signal);
      const { code, signal: by } = await ended;
      await reading;
      return by ?? `exit code ${code}`;
    },
  };
}

async function read(
  stream: ReadableStream<Uint8Array>,
  take: (text: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) take(decoder.decode(chunk, { stream: true }));
}
