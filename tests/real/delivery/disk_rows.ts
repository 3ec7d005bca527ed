import assert from "node:assert/strict";
import { hold, type Moment, open, waitHeld } from "./gate.ts";
import type { Row } from "./lanes.ts";
import { type Machine, onMachine } from "./machine.ts";
import { mute, type Program, type Programs } from "./programs.ts";
import { judge } from "./verdict.ts";

const STATE = "/var/lib/pbx-agent";
const FILLER = `${STATE}/.filler`;
/** Two programs, a third that is fetched, and what has to be free beside it. */
const STATE_MEBIBYTES = 380;
const PATIENT_S = 60;
const SHORT_S = 4;
const VERSION = "0.2.0";
const TIMER = "pbx-agent-rollback.timer";

/** A moment at which the agent's disk is full. */
interface Full {
  readonly name: string;
  /** Brings the update there and fills the disk; what follows happens without room. */
  reach(machine: Machine): Promise<void>;
  /** The update is over, with and without success, before there is room again. */
  until(machine: Machine): Promise<unknown>;
}

/** The agent's disk is full at each step of an update, and has room again later. */
export function diskRows(programs: Programs): readonly Row[] {
  const { first, second } = programs;
  const options = { trial: PATIENT_S, gated: true, stateMebibytes: STATE_MEBIBYTES };
  return [
    ...fulls(second).map(({ name, reach, until }) => ({
      name: `disk full ${name}`,
      play: () =>
        onMachine(programs, options, async (machine) => {
          await reach(machine);
          await until(machine);
          await machine.container.run(["rm", "-f", FILLER]);
          await judge(machine, { runs: second, previous: first, rolledBack: null });
        }),
    })),
    {
      name: "disk full during the rollback: it needs no room, and is told of",
      play: () =>
        onMachine(programs, { ...options, trial: SHORT_S }, async (machine) => {
          await machine.update(mute(VERSION));
          await machine.untilSwapped();
          await fill(machine);
          await machine.until("the report of the rollback", () =>
            machine.report()?.agent.rolled_back);
          await machine.container.run(["rm", "-f", FILLER]);
          await judge(machine, { runs: first, previous: first, rolledBack: VERSION });
          await fiveMoreSyncs(machine);
          assert.equal(machine.files.asked(VERSION).length, 1, "it is fetched again");
        }),
    },
    {
      name: "disk of the units full: no timer, so no swap; with room it goes on",
      play: () =>
        onMachine(programs, { trial: PATIENT_S }, async (machine) => {
          await shrinkUnits(machine);
          await machine.update(second);
          await machine.until("the condition", () => failure(machine, /cannot be installed/));
          const version = await machine.container.run([`${STATE}/bin/pbx-agent`, "version"]);
          assert.match(version, /^pbx-agent 0\.1\.0$/m);
          await machine.container.run(["rm", "/etc/systemd/system/.filler"]);
          await judge(machine, { runs: second, previous: first, rolledBack: null });
        }),
    },
  ];
}

function fulls(second: Program): readonly Full[] {
  const half = Math.floor(second.bytes.length / 2);
  const at = (moment: Moment) => async (machine: Machine) => {
    await hold(machine.container, moment);
    await machine.update(second);
    await waitHeld(machine.container, moment);
    await fill(machine);
    await open(machine.container);
  };
  return [
    {
      name: "when the version is wanted: nothing begins",
      async reach(machine) {
        await fill(machine);
        await machine.update(second);
      },
      async until(machine) {
        await machine.until("the condition", () => {
          const codes = machine.report()?.conditions.map(({ code }) => code) ?? [];
          return codes.includes("disk_full") || undefined;
        });
        assert.deepEqual(machine.files.asked(VERSION), []);
      },
    },
    {
      name: "but for what documents need: the download does not begin",
      async reach(machine) {
        await fill(machine, 20);
        await machine.update(second);
      },
      async until(machine) {
        await machine.until("the condition", () => failure(machine, /no room/));
        assert.deepEqual(machine.files.asked(VERSION), []);
      },
    },
    {
      name: "in the middle of the download",
      async reach(machine) {
        await machine.update(second, [{ holdAfter: half }]);
        await machine.untilStep("fetch");
        await fill(machine);
        machine.files.letGo();
      },
      until: (machine) =>
        machine.until("the condition", () => failure(machine, /no space|no room/i)),
    },
    {
      name: "at the run of the new program",
      reach: at("before start pbx-agent-version.service"),
      until: (machine) =>
        machine.until("the condition", () => failure(machine, /cannot be installed/)),
    },
    {
      name: "at the arming of the timer",
      reach: at(`after stop ${TIMER}`),
      until: (machine) => newOneSyncs(machine),
    },
    {
      name: "between the arming and the swap",
      reach: at(`after is-active ${TIMER}`),
      until: (machine) => newOneSyncs(machine),
    },
    {
      name: "at the first start of the new version",
      async reach(machine) {
        await machine.update(second);
        await machine.untilSwapped();
        await fill(machine);
      },
      until: (machine) => newOneSyncs(machine),
    },
  ];
}

function failure(machine: Machine, says: RegExp): true | undefined {
  const conditions = machine.report()?.conditions ?? [];
  return conditions.some(({ code, message }) => code === "update_failed" && says.test(message)) ||
    undefined;
}

async function newOneSyncs(machine: Machine): Promise<void> {
  await machine.until("the new version without room", () => {
    return machine.report()?.agent.version === VERSION || undefined;
  });
}

async function fiveMoreSyncs(machine: Machine): Promise<void> {
  const syncs = machine.syncs().length;
  await machine.until("five more syncs", () => machine.syncs().length > syncs + 5 || undefined);
}

/** Leaves so many MiB; with none, writes until nothing more fits, whatever the agent writes meanwhile. */
async function fill({ container }: Machine, leaveMebibytes = 0): Promise<void> {
  const fit = await container.run(["stat", "--file-system", "--format=%a %S", STATE]);
  const [blocks = 0, size = 0] = fit.split(" ").map(Number);
  const bytes = (blocks - 2) * size - leaveMebibytes * 1024 ** 2;
  await container.exec(["fallocate", `--length=${Math.max(1, bytes)}`, FILLER]);
  if (leaveMebibytes > 0) return;
  const script = `cat /dev/zero >> ${FILLER} 2> /dev/null; true`;
  await container.run(["sh", "-c", script]);
}

/** Puts the units onto a small disk of their own, and fills that. */
async function shrinkUnits({ container }: Machine): Promise<void> {
  await container.run([
    "sh",
    "-ec",
    `
    mkdir /mnt/units
    mount -t tmpfs -o mode=0755,size=128k units /mnt/units
    cp -a /etc/systemd/system/. /mnt/units
    mount --bind /mnt/units /etc/systemd/system
    cat /dev/zero >> /etc/systemd/system/.filler 2> /dev/null || true
  `,
  ]);
}
