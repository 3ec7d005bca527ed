import type { Bench, BenchRow } from "./bench.ts";
import { openLiveHeap } from "./live_heap.ts";
import { processUse } from "./process_use.ts";
import { eachRepeating, type Repeating } from "./repeating.ts";

const PAUSE_MS = 1;
const STEP = 1_000;
const STEPS = 3;

/** Memory after one, two and three thousand syncs, MB. */
interface Samples {
  readonly resident: readonly number[];
  readonly heap: readonly number[];
}

/** What the agent holds after 1,000 idle syncs, and by how much that grows in the next ones. */
export async function bench(): Promise<readonly Bench[]> {
  const flags = ["--inspect=127.0.0.1:0"];
  const { agent, minimal } = await eachRepeating({ pauseMs: PAUSE_MS, flags }, sample);
  return [{
    name: "memory",
    rows: [
      ...rowsOf("resident memory", agent.resident, minimal.resident),
      ...rowsOf("live JavaScript heap", agent.heap, minimal.heap),
    ],
  }];
}

async function sample({ process, made }: Repeating): Promise<Samples> {
  const resident: number[] = [];
  const heap: number[] = [];
  for (let step = 1; step <= STEPS; step++) {
    await made(step * STEP);
    resident.push((await processUse(process.pid)).residentMb);
    // After the resident memory, which the collection would change.
    const live = await openLiveHeap(process.stderr);
    heap.push(await live.usedMb());
    live.close();
  }
  return { resident, heap };
}

function rowsOf(
  what: string,
  agent: readonly number[],
  minimal: readonly number[],
): readonly BenchRow[] {
  const rows: BenchRow[] = agent.map((value, index) => ({
    what: `${what} after ${(index + 1) * STEP} syncs`,
    value,
    unit: "MB",
    baseline: minimal[index] ?? Number.NaN,
  }));
  return [...rows, {
    what: `${what}, growth per ${STEP} syncs`,
    value: growth(agent),
    unit: "MB",
    baseline: growth(minimal),
    isDifference: true,
  }];
}

function growth(samples: readonly number[]): number {
  return ((samples.at(-1) ?? Number.NaN) - (samples[0] ?? Number.NaN)) / (samples.length - 1);
}
