import type { VirtualEnd } from "../../simulate/virtual/run_virtual.ts";
import { describeTime } from "../../simulate/virtual/trace.ts";
import type { VirtualRunOptions } from "./virtual_options.ts";

/** What a run took of the machine that simulates: by the clock, and of its processors. */
export interface Took {
  readonly seconds: number;
  readonly cpuUs: number;
}

/** The command that tells the life of the first node that broke a rule; null where none did. */
export function replayOf(end: VirtualEnd, options: VirtualRunOptions): string | null {
  const [first] = end.violations;
  if (first === undefined) return null;
  const { agents, duration, profile } = options;
  return `deno task simulate --virtual --agents ${agents} --duration ${duration} ` +
    `--profile ${profile} --seed ${end.seed} --trace ${first.node}`;
}

/** How one seed ended: a line, one for each broken rule, and the command that replays it. */
export function virtualEndText(end: VirtualEnd, options: VirtualRunOptions, took: Took): string {
  const { syncs = 0, requests = 0, faults = 0, events = 0 } = end.counts;
  const perSync = Math.round(took.cpuUs / Math.max(syncs, 1));
  const lines = [
    `seed ${end.seed}: ${end.converged} of ${options.agents} agents converged in ` +
    `${describeTime(end.elapsedMs)}; ${syncs} syncs, ${requests} requests, ${faults} faults, ` +
    `${events} events; ${took.seconds.toFixed(1)} s, ${perSync} us of CPU a sync; ` +
    `trace ${end.traceHash}; ${end.violations.length} rules broken`,
    ...end.violations.map(({ rule, node, at, how }) =>
      `  ${describeTime(at)}  node ${node}  ${rule}: ${how}`
    ),
  ];
  const replay = replayOf(end, options);
  if (replay !== null) lines.push(`  replay: ${replay}`);
  return lines.map((line) => `${line}\n`).join("");
}

/** The same as one line of JSON, with every count. */
export function virtualEndJson(end: VirtualEnd, options: VirtualRunOptions, took: Took): string {
  const { seed, converged, violations, counts } = end;
  const document = {
    seed,
    agents: options.agents,
    converged,
    elapsed_ms: end.elapsedMs,
    trace: end.traceHash,
    violations,
    replay: replayOf(end, options),
    counts,
    seconds: took.seconds,
    cpu_us: took.cpuUs,
  };
  return `${JSON.stringify(document)}\n`;
}
