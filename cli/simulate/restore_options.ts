import { parseArgs } from "node:util";
import { fail, ok, type Result } from "../../core/result.ts";
import { wholeNumber } from "./options.ts";

/** What `simulate restore` was asked to do. */
export interface RestoreRunOptions {
  readonly servers: 3 | 5;
  readonly seed: number;
  readonly trouble: boolean;
  readonly json: boolean;
}

/** The usage text. */
export const RESTORE_USAGE = `usage: simulate restore [options]

Plays a restore of a cluster of several servers in simulated time: a snapshot is taken, data changes, a
server or the majority is lost, and the fake portal guides the restore on the first server and the return
of the others. On every server is the real agent; the story tells what each of them does.

  --servers N       3 or 5 (3)
  --seed N          the same seed gives the same story (1)
  --trouble         in the middle of it agents are killed or stand still, and networks fail
  --json            the whole run as one JSON document
  --help            this text

Exit codes: 0 everything is as it should be, 1 it is not, 2 usage.
`;

/** Reads the arguments. */
export function parseRestoreOptions(
  args: readonly string[],
): Result<RestoreRunOptions | "help", string> {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        servers: { type: "string", default: "3" },
        seed: { type: "string", default: "1" },
        trouble: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h" },
      },
    }));
  } catch (error) {
    return fail(error instanceof Error ? error.message.split(". ")[0] ?? "" : String(error));
  }
  if (values.help === true) return ok("help");
  const servers = wholeNumber(values.servers, 3, 5);
  if (servers !== 3 && servers !== 5) {
    return fail(`--servers ${values.servers}: is neither 3 nor 5`);
  }
  const seed = wholeNumber(values.seed, 0, 2 ** 32 - 1);
  if (seed === null) return fail(`--seed ${values.seed}: is no whole number below 2^32`);
  return ok({ servers, seed, trouble: values.trouble, json: values.json });
}
