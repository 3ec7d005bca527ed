import { createNodeClock } from "./clock.ts";
import { createNodeDisk } from "./disk.ts";
import { runProgram } from "./program.ts";

const SHA256SUM = "/usr/bin/sha256sum";
/** A slow disk that reads a hundred megabytes for the first time. */
const TIMEOUT_MS = 60_000;

/**
 * The hash of this program's own file (lower-case hex SHA-256). A compiled program may read itself only in
 * its usual place; started from another one, or where that is a link, a program of the system hashes it.
 * Throws where neither can.
 */
export async function ownHash(path: string): Promise<string> {
  const hash = await createNodeDisk().sha256(path);
  if (hash.ok && hash.value !== null) return hash.value;
  const run = { path: SHA256SUM, args: ["--", path], timeoutMs: TIMEOUT_MS };
  const exit = await runProgram({ ...run, clock: createNodeClock() });
  const said = exit.ok ? /^([0-9a-f]{64}) /.exec(exit.value.stdout)?.[1] : undefined;
  if (said !== undefined) return said;
  throw new Error(`the program's own file ${path} cannot be read`);
}
