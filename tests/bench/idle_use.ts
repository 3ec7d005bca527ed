import type { EnrolledNode } from "../lab/enrolled_node.ts";
import { startLabProcess } from "../lab/lab_process.ts";
import type { Start } from "./first_request.ts";
import { median } from "./median.ts";
import { processUse } from "./process_use.ts";

/** Cycles when idle: far enough apart that each begins with cold caches, as on a node. */
export const IDLE = { pauseMs: 500, warmUp: 10, counted: 40 };
const LONGEST_MS = 120_000;

/** What a program takes when idle. */
export interface Use {
  readonly residentMb: number;
  readonly cpuMs: number;
  readonly childrenCpuMs: number;
}

/** Memory as the median of what it holds during the cycles that count, CPU time of one of them. */
export async function idleUse(world: EnrolledNode, { command, isFirst }: Start): Promise<Use> {
  const [program = "", ...args] = command;
  const skipped = world.requests.length;
  const process = startLabProcess(program, args);
  const made = (count: number) =>
    world.waitForRequests(isFirst, count, { skipped, timeoutMs: LONGEST_MS });
  try {
    await made(IDLE.warmUp);
    const before = await processUse(process.pid);
    const resident: number[] = [];
    for (let count = 1; count <= IDLE.counted; count++) {
      await made(IDLE.warmUp + count);
      resident.push((await processUse(process.pid)).residentMb);
    }
    const after = await processUse(process.pid);
    return {
      residentMb: median(resident),
      cpuMs: (after.cpuMs - before.cpuMs) / IDLE.counted,
      childrenCpuMs: (after.childrenCpuMs - before.childrenCpuMs) / IDLE.counted,
    };
  } catch (error) {
    throw new Error(`${command.join(" ")}: ${error}\n${process.stderr.slice(-20).join("\n")}`);
  } finally {
    await process.stop();
  }
}
