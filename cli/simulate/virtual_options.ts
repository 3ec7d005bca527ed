import { parseArgs } from "node:util";
import { fail, ok, type Result } from "../../core/result.ts";
import { PROFILE_NAMES } from "../../simulate/profile/built_in.ts";
import { duration, noDuration, wholeNumber } from "./options.ts";

/** What `simulate --virtual` was asked to do. */
export interface VirtualRunOptions {
  readonly agents: number;
  readonly durationMs: number;
  /** As it was written. */
  readonly duration: string;
  readonly profile: string;
  /** The first seed. */
  readonly seed: number;
  /** How many seeds, from that one on. */
  readonly seeds: number;
  /** Threads that share the work; null: as many as are worth it. */
  readonly threads: number | null;
  /** The node whose life is told, or null. */
  readonly trace: number | null;
  /** One line of JSON for each seed on standard output. */
  readonly json: boolean;
}

/** The usage text. */
export const VIRTUAL_USAGE = `usage: simulate --virtual [options]

The same agents in simulated time, against the fake portal's rules in the same process: a day in minutes,
the same for the same seed. Faults come as the profile says; rules that must hold whatever goes wrong are
checked all along. A seed that breaks one is printed with the command that replays it.

  --agents N        how many agents (10)
  --duration D      simulated time, such as 6h or 24h (6h)
  --profile NAME    ${PROFILE_NAMES.join(", ")}, or a file (usual)
  --seed N          the same seed gives the same run (1)
  --seeds N         so many seeds, from --seed on (1)
  --threads N       so many threads share the agents (as many as the machine has cores); what happens
                    does not depend on it
  --trace NODE      tells the life of one agent, from 0, on standard output
  --json            how each seed ended, as one line of JSON on standard output
  --help            this text

Exit codes: 0 every rule held, 1 one was broken, 2 usage.
`;

const MOST_AGENTS = 100_000;
const MOST_THREADS = 256;

/** Reads the arguments. */
export function parseVirtualOptions(
  args: readonly string[],
): Result<VirtualRunOptions | "help", string> {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        virtual: { type: "boolean" },
        agents: { type: "string", default: "10" },
        duration: { type: "string", default: "6h" },
        profile: { type: "string", default: "usual" },
        seed: { type: "string", default: "1" },
        seeds: { type: "string", default: "1" },
        threads: { type: "string" },
        trace: { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h" },
      },
    }));
  } catch (error) {
    return fail(error instanceof Error ? error.message.split(". ")[0] ?? "" : String(error));
  }
  if (values.help === true) return ok("help");
  const agents = wholeNumber(values.agents, 1, MOST_AGENTS);
  if (agents === null) {
    return fail(`--agents ${values.agents}: is no number from 1 to ${MOST_AGENTS}`);
  }
  const seed = wholeNumber(values.seed, 0, 2 ** 32 - 1);
  if (seed === null) return fail(`--seed ${values.seed}: is no whole number below 2^32`);
  const seeds = wholeNumber(values.seeds, 1, 1_000_000);
  if (seeds === null) return fail(`--seeds ${values.seeds}: is no number from 1 to 1000000`);
  const durationMs = duration(values.duration);
  if (durationMs === null || durationMs === 0) return fail(noDuration("duration", values.duration));
  const threads = values.threads === undefined
    ? null
    : wholeNumber(values.threads, 1, MOST_THREADS);
  if (values.threads !== undefined && threads === null) {
    return fail(`--threads ${values.threads}: is no number from 1 to ${MOST_THREADS}`);
  }
  const trace = values.trace === undefined ? null : wholeNumber(values.trace, 0, agents - 1);
  if (values.trace !== undefined && trace === null) {
    return fail(`--trace ${values.trace}: is no number from 0 to ${agents - 1}`);
  }
  const { profile, json } = values;
  if (json && trace !== null) {
    return fail("--json and --trace both want standard output: give one of them");
  }
  return ok({
    agents,
    durationMs,
    duration: values.duration,
    profile,
    seed,
    seeds,
    threads,
    trace,
    json,
  });
}
