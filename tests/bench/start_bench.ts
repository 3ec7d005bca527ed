import { bundleProgram } from "../lab/agent_program.ts";
import { type EnrolledNode, isSync, startEnrolledNode } from "../lab/enrolled_node.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { firstRequestMs, type Start } from "./first_request.ts";
import { median } from "./median.ts";
import { isMinimal, minimalCommand } from "./minimal_program.ts";

const ROUNDS = 7;

/** From the start of the process to the first signed sync that the portal answers, as the median of some. */
export async function bench(): Promise<readonly Bench[]> {
  const world = await startEnrolledNode();
  const folder = await Deno.makeTempDir({ prefix: "pbx-bench-" });
  try {
    const bundle = `${folder}/agent.js`;
    await bundleProgram("cli/lab.ts", bundle);
    const agentArgs = ["run", "--root", world.node.root];
    const minimal = { command: [Deno.execPath(), ...minimalCommand(world)], isFirst: isMinimal };
    const bundled = [Deno.execPath(), "run", "-A", "--no-check", "--no-config", bundle];
    const rows = [
      await compare(world, "from its sources", agent(world.agentCommand()), minimal),
      await compare(world, "as one bundle", agent([...bundled, ...agentArgs]), minimal),
    ];
    return [{ name: "start", rows }];
  } finally {
    await Deno.remove(folder, { recursive: true });
    await world.stop();
  }
}

function agent(command: readonly string[]): Start {
  return { command, isFirst: isSync };
}

/** Measures both in turns, so that whatever else the machine does befalls both. */
async function compare(
  world: EnrolledNode,
  how: string,
  agent: Start,
  minimal: Start,
): Promise<BenchRow> {
  const times = { agent: [] as number[], minimal: [] as number[] };
  // The first of each fills the caches of the runtime and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const agentMs = await firstRequestMs(world, agent);
    const minimalMs = await firstRequestMs(world, minimal);
    if (round === 0) continue;
    times.agent.push(agentMs);
    times.minimal.push(minimalMs);
  }
  return {
    what: `start to first signed request, ${how}`,
    value: median(times.agent),
    unit: "ms",
    baseline: median(times.minimal),
  };
}
