import { type EnrolledNode, isSync, startEnrolledNode } from "../lab/enrolled_node.ts";
import { type LabProcess, startLabProcess } from "../lab/lab_process.ts";
import { isMinimal, minimalCommand } from "./minimal_program.ts";

/** A program that asks the portal again and again. */
export interface Repeating {
  readonly process: LabProcess;
  /** Waits until it has made `count` requests since its start. */
  made(count: number): Promise<void>;
}

/** Both programs, one after the other, on one portal; the pause between two requests is `pauseMs`. */
export async function eachRepeating<T>(
  { pauseMs, flags = [] }: { readonly pauseMs: number; readonly flags?: readonly string[] },
  measure: (program: Repeating) => Promise<T>,
): Promise<{ readonly agent: T; readonly minimal: T }> {
  const world = await startEnrolledNode();
  try {
    const [, ...agent] = world.agentCommand("--cycle", String(pauseMs / 1000));
    const minimal = minimalCommand(world, pauseMs);
    return {
      agent: await measureOne(world, withFlags(agent, flags), isSync, measure),
      minimal: await measureOne(world, withFlags(minimal, flags), isMinimal, measure),
    };
  } finally {
    await world.stop();
  }
}

/** `deno run` with more flags. */
function withFlags([run = "", ...rest]: readonly string[], flags: readonly string[]) {
  return [run, ...flags, ...rest];
}

async function measureOne<T>(
  world: EnrolledNode,
  args: readonly string[],
  isOwn: typeof isSync,
  measure: (program: Repeating) => Promise<T>,
): Promise<T> {
  const skipped = world.requests.length;
  const process = startLabProcess(Deno.execPath(), args);
  try {
    return await measure({
      process,
      made: async (count) => {
        await world.waitForRequests(isOwn, count, { skipped, timeoutMs: LONGEST_MS });
      },
    });
  } catch (error) {
    throw new Error(`${args.join(" ")}: ${error}\n${process.stderr.slice(-20).join("\n")}`);
  } finally {
    await process.stop();
  }
}

const LONGEST_MS = 120_000;
