import assert from "node:assert/strict";
import type { Row } from "./lanes.ts";
import { type Machine, onMachine } from "./machine.ts";
import { mute, type Program, type Programs, says, script } from "./programs.ts";
import { judge } from "./verdict.ts";

/** Long enough for a new version on the slowest machine; a success ends it early. */
const PATIENT_S = 60;
/** How long a version that cannot make it has, seconds. */
const SHORT_S = 4;
const VERSION = "0.2.0";

/** New programs that say their version and are no agents. */
const DUDS: readonly {
  readonly name: string;
  readonly program: Program;
  readonly restart: number;
  readonly unit?: string;
}[] = [
  {
    name: "crashes in a loop",
    program: script(VERSION, `${says(VERSION)}\n[ "$1" = version ] || exit 1`),
    restart: 5,
  },
  {
    // As on a machine whose administrator has set limits: the rollback has to wait for its own start.
    name: "crashes in a loop until systemd gives up",
    program: script(VERSION, `${says(VERSION)}\n[ "$1" = version ] || exit 1`),
    restart: 0.1,
    unit: "StartLimitIntervalSec=10\nStartLimitBurst=5\n",
  },
  {
    name: "starts and never syncs",
    program: mute(VERSION),
    restart: 1,
  },
  {
    name: "does not heed SIGTERM",
    program: script(
      VERSION,
      `${says(VERSION)}\n[ "$1" = version ] && exit\ntrap '' TERM\nwhile :; do sleep 1; done`,
    ),
    restart: 1,
  },
  {
    name: "cannot be started a second time",
    program: script(VERSION, `${says(VERSION)}\nchmod 0644 "$0"`),
    restart: 1,
  },
];

/** What becomes of the portal after the swap. */
interface Trouble {
  readonly name: string;
  begin(machine: Machine): void | Promise<void>;
  end(machine: Machine): void | Promise<void>;
}

const TROUBLES: readonly Trouble[] = [
  {
    name: "answers 429",
    begin: (machine) => machine.spoilSyncs(429, { "retry-after": "2" }),
    end: (machine) => machine.mend(),
  },
  {
    name: "answers 503",
    begin: (machine) => machine.spoilSyncs(503),
    end: (machine) => machine.mend(),
  },
  {
    name: "is gone",
    begin: (machine) => machine.outage(true),
    end: (machine) => machine.outage(false),
  },
];

/** New programs that never sync, and good ones whose portal is away for less or more than the trial. */
export function trialRows(programs: Programs): readonly Row[] {
  const { first, second } = programs;
  return [
    ...DUDS.map(({ name, program, restart, unit = "" }) => ({
      name: `program: ${name}`,
      play: () =>
        onMachine(programs, { trial: SHORT_S, restart, unit }, async (machine) => {
          await machine.update(program);
          await machine.untilSwapped();
          await takenBack(machine, programs);
          assert.equal(machine.files.asked(VERSION).length, 1);
        }),
    })),
    ...TROUBLES.map((trouble) => ({
      name: `portal ${trouble.name} for less than the trial: the new version stays`,
      play: () =>
        onMachine(programs, { trial: PATIENT_S }, async (machine) => {
          const syncs = await swapInto(machine, second, trouble);
          await machine.until("the new version to have tried", async () => {
            if (trouble.name !== "is gone") return machine.syncs().length > syncs || undefined;
            const state = JSON.parse(
              await machine.container.readFile("/var/lib/pbx-agent/state.json"),
            );
            return state.trouble !== null || undefined;
          });
          const status = await machine.statusText();
          assert.match(
            status,
            /^update +0\.1\.0 to 0\.2\.0, step trial since \S+, must sync by \S+$/m,
          );
          await trouble.end(machine);
          await judge(machine, { runs: second, previous: first, rolledBack: null });
        }),
    })),
    ...TROUBLES.map((trouble) => ({
      name:
        `portal ${trouble.name} for longer than the trial: taken back, and told when it is there`,
      play: () =>
        onMachine(programs, { trial: SHORT_S }, async (machine) => {
          await swapInto(machine, second, trouble);
          await machine.until("the rollback", async () => {
            const version = ["/var/lib/pbx-agent/bin/pbx-agent", "version"];
            return (await machine.container.run(version)).includes(first.version) || undefined;
          });
          await trouble.end(machine);
          await takenBack(machine, programs);
        }),
    })),
  ];
}

/** Updates to the program and lets trouble begin before that has synced; gives the syncs until then. */
async function swapInto(machine: Machine, program: Program, trouble: Trouble): Promise<number> {
  await machine.update(program);
  await machine.untilSwapped();
  await trouble.begin(machine);
  return machine.syncs().length;
}

/** The first program is back, says so to the portal and to people, and holds the other for six hours. */
async function takenBack(machine: Machine, { first }: Programs): Promise<void> {
  await judge(machine, { runs: first, previous: first, rolledBack: VERSION });
  const { from, to, reason } = machine.report()?.agent.rolled_back ?? {};
  assert.deepEqual({ from, to }, { from: VERSION, to: first.version });
  assert.match(reason ?? "", /no successful sync in time/);
  const status = await machine.statusText();
  assert.match(status, /^update +taken back from 0\.2\.0 to 0\.1\.0 at /m);
  const again = /^update +0\.2\.0 not before (\S+) \(rollback\)/m.exec(status)?.[1] ?? "";
  const hours = (Date.parse(again) - Date.now()) / 3_600_000;
  assert.ok(hours > 5.9 && hours <= 6, status);
}
