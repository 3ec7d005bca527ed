import type { Bench, BenchRow } from "./bench.ts";
import { type ProcessUse, processUse } from "./process_use.ts";
import { eachRepeating, type Repeating } from "./repeating.ts";

/** Cycles at a rhythm: `warmUp` of them are not counted. */
interface Rhythm {
  readonly name: string;
  readonly pauseMs: number;
  readonly warmUp: number;
  readonly counted: number;
}

/**
 * Quick cycles keep the compiler's work and warm caches, slow ones are nearer to a node, where 30 s lie
 * between two.
 */
const RHYTHMS: readonly Rhythm[] = [
  { name: "quick", pauseMs: 10, warmUp: 100, counted: 300 },
  { name: "four a second", pauseMs: 250, warmUp: 5, counted: 40 },
];

/** CPU time that one idle cycle takes. */
export async function bench(): Promise<readonly Bench[]> {
  const rows: BenchRow[] = [];
  for (const rhythm of RHYTHMS) rows.push(...await rowsOf(rhythm));
  return [{ name: "cpu", rows }];
}

async function rowsOf(rhythm: Rhythm): Promise<readonly BenchRow[]> {
  const { agent, minimal } = await eachRepeating(
    { pauseMs: rhythm.pauseMs },
    (program) => usePerCycle(program, rhythm),
  );
  return [
    {
      what: `CPU time of an idle cycle, ${rhythm.name}`,
      value: agent.cpuMs,
      unit: "ms",
      baseline: minimal.cpuMs,
    },
    {
      what: `the same of its one child, systemctl is-active, ${rhythm.name}`,
      value: agent.childrenCpuMs,
      unit: "ms",
    },
  ];
}

async function usePerCycle(
  { process, made }: Repeating,
  { warmUp, counted }: Rhythm,
): Promise<Pick<ProcessUse, "cpuMs" | "childrenCpuMs">> {
  await made(warmUp);
  const before = await processUse(process.pid);
  await made(warmUp + counted);
  const after = await processUse(process.pid);
  return {
    cpuMs: (after.cpuMs - before.cpuMs) / counted,
    childrenCpuMs: (after.childrenCpuMs - before.childrenCpuMs) / counted,
  };
}
