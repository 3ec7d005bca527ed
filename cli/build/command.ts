const TIMEOUT_MS = 10 * 60_000;

/** How a command of the build is run. */
export interface CommandOptions {
  /** Variables beside the inherited ones; undefined takes one of those away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

/**
 * Runs a program of the developer's machine that has to succeed, and gives what it printed on stdout.
 * Throws with the end of its stderr. A build inherits the environment: caches, proxies and the package
 * registry of that machine are named there.
 */
export async function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  { env = {}, cwd }: CommandOptions = {},
): Promise<string> {
  const variables = Object.entries({ ...Deno.env.toObject(), ...env });
  const what = [program, ...args].join(" ").slice(0, 200);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const output = await new Deno.Command(program, {
    args,
    stdin: "null",
    signal,
    clearEnv: true,
    env: Object.fromEntries(
      variables.flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
    ),
    ...(cwd === undefined ? {} : { cwd }),
  }).output().catch((cause: unknown) => {
    throw new Error(`${what} cannot be started: ${String(cause)}`);
  });
  const decoder = new TextDecoder();
  if (output.success) return decoder.decode(output.stdout);
  const said = decoder.decode(output.stderr).trim() || decoder.decode(output.stdout).trim();
  const how = signal.aborted ? "took too long" : `ended with ${output.code}`;
  throw new Error(`${what} ${how}: ${said.slice(-2_000)}`);
}
