import assert from "node:assert/strict";
import type { Row } from "./lanes.ts";
import { onMachine } from "./machine.ts";
import { mute, type Programs } from "./programs.ts";
import { judge } from "./verdict.ts";

const MINUTE_MS = 60_000;
const TRIAL_MS = 10 * MINUTE_MS;
/** The timer's accuracy, stopping and starting, on a busy machine. */
const SLACK_MS = 45_000;
const VERSION = "0.2.0";

/** The promise as it ships: within ten minutes the node has a working agent again. */
export function tenMinutes(programs: Programs): Row {
  const { first } = programs;
  return {
    name: "the real ten minutes: a version that never syncs is taken back then, and not before",
    play: () =>
      onMachine(programs, { trial: null }, async (machine) => {
        await machine.update(mute(VERSION));
        await machine.untilSwapped();
        const swapped = performance.now();
        await machine.until("the rollback", () => machine.report()?.agent.rolled_back, {
          timeoutMs: TRIAL_MS + 3 * MINUTE_MS,
        });
        const took = performance.now() - swapped;
        await judge(machine, { runs: first, previous: first, rolledBack: VERSION });
        // It is armed a moment before the swap.
        assert.ok(took > TRIAL_MS - 10_000 && took < TRIAL_MS + SLACK_MS, `${took} ms`);
      }),
  };
}

/** Outages of real lengths: five minutes are survived, fifteen are not. */
export function outages(programs: Programs): readonly Row[] {
  const { first, second } = programs;
  return [5, 15].map((minutes) => ({
    name: `a portal that is gone for ${minutes} real minutes after the swap`,
    play: () =>
      onMachine(programs, { trial: null }, async (machine) => {
        await machine.update(second);
        await machine.untilSwapped();
        await machine.outage(true);
        await new Promise((resolve) => setTimeout(resolve, minutes * MINUTE_MS));
        const before = machine.syncs().length;
        await machine.outage(false);
        const stays = minutes < 10;
        const version = stays ? second.version : first.version;
        // The last report may be one of before the outage; the next comes after the backoff, six minutes at most.
        await machine.until(`a sync of pbx-agent ${version}`, () => {
          if (machine.syncs().length === before) return undefined;
          return machine.report()?.agent.version === version || undefined;
        }, { timeoutMs: 7 * MINUTE_MS });
        await judge(machine, {
          runs: stays ? second : first,
          previous: first,
          rolledBack: stays ? null : VERSION,
        });
      }),
  }));
}
