import type { EnrolledNode, SeenRequest } from "../lab/enrolled_node.ts";
import { startLabProcess } from "../lab/lab_process.ts";

/** A program and how its first request is told from others. */
export interface Start {
  readonly command: readonly string[];
  readonly isFirst: (request: SeenRequest) => boolean;
}

/** From the start of the process to its first request that the portal answers, milliseconds. */
export async function firstRequestMs(
  world: EnrolledNode,
  { command, isFirst }: Start,
): Promise<number> {
  const [program = "", ...args] = command;
  const skipped = world.requests.length;
  const startedAt = performance.now();
  const started = startLabProcess(program, args);
  try {
    const [first] = await world.waitForRequests(isFirst, 1, { skipped });
    return (first?.at ?? Number.NaN) - startedAt;
  } catch (error) {
    throw new Error(`${command.join(" ")}: ${error}\n${started.stderr.join("\n")}`);
  } finally {
    await started.stop();
  }
}
