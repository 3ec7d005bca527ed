import { isSync, startEnrolledNode } from "../lab/enrolled_node.ts";
import type { EnrolledNode } from "../lab/enrolled_node.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { firstRequestMs, type Start } from "./first_request.ts";
import { IDLE, idleUse, type Use } from "./idle_use.ts";
import { median } from "./median.ts";
import { isMinimal, minimalArgs } from "./minimal_program.ts";
import { shippedPrograms } from "./shipped_programs.ts";

const STARTS = 7;
const MIB = 1024 * 1024;

/** The three that are compared: the agent as it ships, a program that only fetches, the agent's sources. */
const NAMES = ["agent", "minimal", "sources"] as const;
type Name = typeof NAMES[number];
type Starts = Readonly<Record<Name, (pauseMs?: number) => Start>>;

/** The program as it ships: its size, its start, and what it takes when idle and synced. */
export async function bench(): Promise<readonly Bench[]> {
  const world = await startEnrolledNode();
  const folder = await Deno.makeTempDir({ prefix: "pbx-bench-" });
  try {
    const programs = await shippedPrograms(folder, world.node.root);
    if (programs === null) return [];
    const cycle = (pauseMs?: number) =>
      pauseMs === undefined ? [] : ["--cycle", String(pauseMs / 1000)];
    const run = ["run", "--root", world.node.root];
    const starts: Starts = {
      agent: (pauseMs) => ({
        command: [programs.agent, ...run, ...cycle(pauseMs)],
        isFirst: isSync,
      }),
      minimal: (pauseMs) => ({
        command: [programs.minimal, ...minimalArgs(world, pauseMs)],
        isFirst: isMinimal,
      }),
      sources: (pauseMs) => ({ command: world.agentCommand(...cycle(pauseMs)), isFirst: isSync }),
    };
    const sizes = await Promise.all([programs.agent, programs.minimal].map(Deno.stat));
    const [agent = Number.NaN, minimal = Number.NaN] = sizes.map(({ size }) => size / MIB);
    return [{
      name: "compiled",
      rows: [
        { what: "size", value: agent, unit: "MiB", baseline: minimal },
        rowOf("start to first signed request", "ms", await startTimes(world, starts)),
        ...await idleRows(world, starts),
      ],
    }];
  } finally {
    await Deno.remove(folder, { recursive: true });
    await world.stop();
  }
}

/** In turns, so that whatever else the machine does befalls all; the first of each is not counted. */
async function startTimes(world: EnrolledNode, starts: Starts): Promise<Record<Name, number>> {
  const times: Record<Name, number[]> = { agent: [], minimal: [], sources: [] };
  for (let round = 0; round <= STARTS; round++) {
    for (const name of NAMES) {
      const ms = await firstRequestMs(world, starts[name]());
      if (round > 0) times[name].push(ms);
    }
  }
  return {
    agent: median(times.agent),
    minimal: median(times.minimal),
    sources: median(times.sources),
  };
}

async function idleRows(world: EnrolledNode, starts: Starts): Promise<readonly BenchRow[]> {
  const uses = {
    agent: await idleUse(world, starts.agent(IDLE.pauseMs)),
    minimal: await idleUse(world, starts.minimal(IDLE.pauseMs)),
    sources: await idleUse(world, starts.sources(IDLE.pauseMs)),
  };
  const of = (read: (use: Use) => number) => ({
    agent: read(uses.agent),
    minimal: read(uses.minimal),
    sources: read(uses.sources),
  });
  return [
    rowOf("resident memory when idle and synced", "MB", of(({ residentMb }) => residentMb)),
    rowOf("CPU time of an idle cycle", "ms", of(({ cpuMs }) => cpuMs)),
    { what: "CPU time of its children in it", value: uses.agent.childrenCpuMs, unit: "ms" },
  ];
}

function rowOf(
  what: string,
  unit: string,
  { agent, minimal, sources }: Readonly<Record<Name, number>>,
): BenchRow {
  return { what, value: agent, unit, baseline: minimal, uncompiled: sources };
}
