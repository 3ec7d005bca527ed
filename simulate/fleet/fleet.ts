import { createNativeKeyWork } from "../../adapters/native_key_work.ts";
import { createRunTimeline } from "./run_timeline.ts";
import { createSimulatedAgent, type Shared, type SimulatedAgent } from "./simulated_agent.ts";
import type { Tokens } from "./tokens.ts";

/** How a fleet is run. */
export interface FleetOptions extends Omit<Shared, "timeline" | "keyWork"> {
  /** The numbers of the agents of this process, of the whole fleet's 0 to `agents` - 1. */
  readonly indexes: readonly number[];
  readonly agents: number;
  /** Agents begin one after the other over this time, milliseconds. */
  readonly rampMs: number;
  readonly tokens: Tokens;
  /** The time is over: agents are ended from here on. */
  readonly over: () => void;
  /** Aborts when the run has to end early. */
  readonly stop: AbortSignal;
}

/** How a run ended: it was as long as asked, or it was told to end before. */
export type FleetEnd = "duration" | "signal";

/** Asking for a token failed: after this long it is tried again, milliseconds. */
const TOKEN_AGAIN_MS = 1_000;
/** Agents whose end hangs are left behind after this, milliseconds. */
const END_MS = 10_000;

/** Runs the agents for as long as asked, or until told to end. */
export async function runFleet(options: FleetOptions): Promise<FleetEnd> {
  const { clock, stop, durationMs } = options;
  const over = new AbortController();
  const timeline = createRunTimeline(clock, over.signal);
  const shared: Shared = { ...options, keyWork: createNativeKeyWork(), timeline };
  const end = () => over.abort();
  stop.addEventListener("abort", end);
  const agents = options.indexes.map((index) => ({
    index,
    agent: createSimulatedAgent(shared, index),
  }));
  const ramp = Promise.all(
    agents.map(({ index, agent }) => begin(options, index, agent, over.signal)),
  );
  await clock.sleep(durationMs, over.signal);
  options.over();
  end();
  stop.removeEventListener("abort", end);
  const ended = ramp.then(() => Promise.all(agents.map(({ agent }) => agent.end())));
  await Promise.race([ended, clock.sleep(END_MS)]);
  return stop.aborted ? "signal" : "duration";
}

/** Waits for the agent's turn and begins it. */
async function begin(
  options: FleetOptions,
  index: number,
  agent: SimulatedAgent,
  over: AbortSignal,
): Promise<void> {
  const { clock, tokens, recorder } = options;
  await clock.sleep(options.rampMs * index / options.agents, over);
  while (!over.aborted) {
    try {
      const name = await tokens.of(index);
      if (!over.aborted) agent.begin(name);
      return;
    } catch (cause) {
      recorder.fault(`agent ${index}`, cause instanceof Error ? cause.message : String(cause));
      await clock.sleep(TOKEN_AGAIN_MS, over);
    }
  }
}
