/**
 * `seeds.ts FROM TO`: clusters of several servers in virtual time, seed after seed. Those that break a rule
 * are told with the command that replays them; a single seed tells its whole story. `seeds.ts --first FROM
 * TO`: ends with the first one that breaks a rule, and tells it as one line of JSON.
 */
import process from "node:process";
import { runServersSeed } from "./run_seed.ts";

/** The command that runs one seed again and tells its story. */
export function replayOf(seed: number): string {
  return `deno run -A tests/simulate/servers/seeds.ts ${seed} ${seed}`;
}

/** How often one says how far it is. */
const SAY_EVERY = 500;

async function runAll(from: number, to: number): Promise<void> {
  let broken = 0;
  for (let seed = from; seed <= to; seed++) {
    const end = await runServersSeed(seed, from === to);
    for (const line of end.story) print(line);
    if (end.broken !== null) {
      broken += 1;
      print(`seed ${seed}, ${end.size} servers: ${end.broken}\n  ${replayOf(seed)}`);
    }
    if ((seed - from + 1) % SAY_EVERY === 0) print(`-- up to ${seed}: ${broken} broke a rule`);
  }
  print(`seeds ${from} to ${to}: ${to - from + 1 - broken} kept every rule, ${broken} did not`);
  if (broken > 0) process.exitCode = 1;
}

async function findFirst(from: number, to: number): Promise<void> {
  for (let seed = from; seed <= to; seed++) {
    const { broken } = await runServersSeed(seed);
    if (broken !== null) return print(JSON.stringify({ seed, how: broken }));
  }
  print(JSON.stringify({ seed: null }));
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (import.meta.main) {
  const isSearch = Deno.args[0] === "--first";
  const [from, to] = Deno.args.slice(isSearch ? 1 : 0).map(Number);
  if (from === undefined || to === undefined) throw new Error("seeds.ts [--first] FROM TO");
  await (isSearch ? findFirst : runAll)(from, to);
}
