import assert from "node:assert/strict";
import { hold, type Moment, open, waitHeld } from "./gate.ts";
import type { Row } from "./lanes.ts";
import { type Machine, type MachineOptions, onMachine } from "./machine.ts";
import { mute, type Program, type Programs } from "./programs.ts";
import { judge } from "./verdict.ts";

/** A point of an update at which the machine goes down. */
interface Point {
  readonly name: string;
  readonly program: Program;
  readonly options: MachineOptions;
  /** Brings the update to the point and holds it there. */
  reach(machine: Machine): Promise<void>;
  /** Before the machine is up again. */
  after?(machine: Machine): void;
  /** Whether the new version is the right one in the end. */
  readonly stays: boolean;
  /** The unit that is at work. */
  readonly unit: string;
  /** What `status` says at the point, before the machine goes down. */
  readonly status?: RegExp;
}

const TIMER = "pbx-agent-rollback.timer";
const AGENT = "pbx-agent.service";
/** systemd runs a new program for its version. */
const VERSION_UNIT = "pbx-agent-version.service";
const VERSION = "0.2.0";
/** A success ends it early. */
const PATIENT_S = 60;
const SHORT_S = 4;

/** How the machine, or the unit that is at work, goes down. */
const WAYS = {
  "power cut": ({ container }: Machine) => container.powerCut(),
  "reboot": ({ container }: Machine) => container.reboot(),
  "kill": async ({ container }: Machine, unit: string) => {
    await container.exec(["systemctl", "kill", "--kill-who=all", "--signal=KILL", unit]);
    await open(container);
  },
} as const;
/** One of them. */
export type Way = keyof typeof WAYS;

/**
 * The machine goes down at every point between the download and the end of the timer, or the unit that is
 * at work is killed there.
 */
export function cutRows(programs: Programs, way: Way): readonly Row[] {
  const { first, second } = programs;
  const points = [...installPoints(programs), ...provenPoints(second), ...rollbackPoints()];
  return points.map(({ name, program, options, reach, after, stays, unit, status }) => ({
    name: `${way} ${name}: ${stays ? "the new version runs" : "the previous version runs"}`,
    play: () =>
      onMachine(programs, options, async (machine) => {
        await reach(machine);
        if (status !== undefined) assert.match(await machine.statusText(), status);
        const down = WAYS[way](machine, unit);
        after?.(machine);
        await down;
        await judge(machine, {
          runs: stays ? program : first,
          previous: first,
          rolledBack: stays ? null : VERSION,
          killed: way === "kill",
        });
      }),
  }));
}

/** Points of the program that fetches and puts in place. */
function installPoints(programs: Programs): readonly Point[] {
  const { second } = programs;
  const half = Math.floor(second.bytes.length / 2);
  const options = { trial: PATIENT_S, gated: true };
  const running: readonly Moment[] = [
    `before start ${VERSION_UNIT}`,
    `after start ${VERSION_UNIT}`,
  ];
  const arming: readonly Moment[] = [
    `before stop ${TIMER}`,
    `after stop ${TIMER}`,
    `before enable ${TIMER}`,
    `after enable ${TIMER}`,
    `after start ${TIMER}`,
    `after is-active ${TIMER}`,
  ];
  return [
    {
      name: "in the middle of the download",
      program: second,
      options,
      stays: true,
      unit: AGENT,
      status: /^update +0\.1\.0 to 0\.2\.0, step fetch since \S+$/m,
      async reach(machine) {
        await machine.update(second, [{ holdAfter: half }]);
        await machine.untilStep("fetch");
        await machine.until("half of it", async () => {
          const size = ["stat", "-c", "%s", "/var/lib/pbx-agent/bin/pbx-agent.new"];
          return Number(await machine.container.run(size)) > half || undefined;
        });
      },
    },
    ...running.map((moment): Point => ({
      name: `at the run of the new program for its version, ${moment}`,
      program: second,
      options,
      stays: true,
      unit: AGENT,
      status: /^update +0\.1\.0 to 0\.2\.0, step run since \S+$/m,
      async reach(machine) {
        await hold(machine.container, moment);
        await machine.update(second);
        await waitHeld(machine.container, moment);
      },
    })),
    ...arming.map((moment): Point => ({
      name: `at the arming of the timer, ${moment}`,
      program: second,
      options,
      stays: true,
      unit: AGENT,
      status: /^update +0\.1\.0 to 0\.2\.0, step arm since \S+$/m,
      async reach(machine) {
        await hold(machine.container, moment);
        await machine.update(second);
        await waitHeld(machine.container, moment);
      },
    })),
    {
      name: "between the swap and the start of the new program",
      program: second,
      options: { ...options, restart: 30 },
      stays: true,
      unit: AGENT,
      async reach(machine) {
        await machine.update(second);
        await machine.untilSwapped();
      },
    },
  ];
}

/** Points of the new program: before its first sync, and between that and the end of the timer. */
function provenPoints(second: Program): readonly Point[] {
  const options = { trial: PATIENT_S, gated: true };
  const disarming: readonly Moment[] = [
    `before stop ${TIMER}`,
    `before disable ${TIMER}`,
    `after disable ${TIMER}`,
    "before daemon-reload",
  ];
  return [
    {
      name: "before the first sync",
      program: second,
      options,
      stays: true,
      unit: AGENT,
      status: /^update +0\.1\.0 to 0\.2\.0, step trial since \S+, must sync by \S+$/m,
      async reach(machine) {
        await machine.update(second);
        await machine.untilSwapped();
        machine.spoilSyncs(503);
        const syncs = machine.syncs().length;
        await machine.until("a sync that fails", () => machine.syncs().length > syncs || undefined);
      },
      after: (machine) => machine.mend(),
    },
    ...disarming.map((moment): Point => ({
      name: `after the first sync, ${moment}`,
      program: second,
      options,
      stays: true,
      unit: AGENT,
      async reach(machine) {
        await machine.update(second);
        await machine.untilSwapped();
        await hold(machine.container, moment);
        await waitHeld(machine.container, moment);
      },
    })),
  ];
}

/** Points of the rollback, from its first call to its last. */
function rollbackPoints(): readonly Point[] {
  const program = mute(VERSION);
  const moments: readonly Moment[] = [
    `before is-active ${AGENT}`,
    `before stop ${AGENT}`,
    `after stop ${AGENT}`,
    `before restart ${AGENT}`,
    `after restart ${AGENT}`,
    `before stop ${TIMER}`,
    `before disable ${TIMER}`,
    "before daemon-reload",
  ];
  return moments.map((moment) => ({
    name: `during the rollback, ${moment}`,
    program,
    options: { trial: SHORT_S, gated: true },
    stays: false,
    unit: "pbx-agent-rollback.service",
    async reach(machine) {
      await machine.update(program);
      await machine.untilSwapped();
      await hold(machine.container, moment);
      await waitHeld(machine.container, moment);
    },
  }));
}
