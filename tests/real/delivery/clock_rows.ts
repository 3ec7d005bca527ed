import assert from "node:assert/strict";
import { hold, open, waitHeld } from "./gate.ts";
import type { Row } from "./lanes.ts";
import { type Machine, onMachine } from "./machine.ts";
import { mute, type Programs } from "./programs.ts";
import { judge } from "./verdict.ts";

const PATIENT_S = 60;
const SHORT_S = 4;
const VERSION = "0.2.0";

/** The clock is set a day on or back at the steps of an update. */
export function clockRows(programs: Programs): readonly Row[] {
  return ([1, -1] as const).flatMap((days) => rowsOf(programs, days));
}

function rowsOf(programs: Programs, days: 1 | -1): readonly Row[] {
  const { first, second } = programs;
  const name = (when: string) => `clock set ${days > 0 ? "a day on" : "back a day"} ${when}`;
  const patient = { trial: PATIENT_S, ownClock: true };
  const short = { trial: SHORT_S, ownClock: true, gated: true };
  return [
    {
      name: name("in the middle of the download: the new version stays"),
      play: () =>
        onMachine(programs, patient, async (machine) => {
          await machine.update(second, [{ holdAfter: 1_000_000 }]);
          await machine.untilStep("fetch");
          await machine.setClock(days);
          machine.files.letGo();
          await judge(machine, { runs: second, previous: first, rolledBack: null });
          const isOff = machine.report()?.conditions.some(({ code }) =>
            code === "clock_offset_large"
          );
          assert.equal(isOff, true, "the clock was not off");
          // Within a boot the corrected time runs on the monotonic clock: the portal refuses no signature.
          assert.equal(machine.syncs().includes(409), false);
        }),
    },
    {
      name: name("before the first sync: the timer does not care, the new version stays"),
      play: () =>
        onMachine(programs, patient, async (machine) => {
          await machine.update(second);
          await machine.untilSwapped();
          await machine.setClock(days);
          const timer = ["systemctl", "show", "pbx-agent-rollback.timer"];
          const shown = await machine.container.run(timer);
          assert.match(shown, /^TimersMonotonic=\{ OnActiveUSec=1min ;/m);
          assert.doesNotMatch(shown, /^TimersCalendar=./m);
          assert.doesNotMatch(shown, /^NextElapseUSecRealtime=./m);
          await judge(machine, { runs: second, previous: first, rolledBack: null });
        }),
    },
    {
      name: name("while a version is on trial: taken back, and not tried again"),
      play: () =>
        onMachine(programs, short, async (machine) => {
          await machine.update(mute(VERSION));
          await machine.untilSwapped();
          await machine.setClock(days);
          await heldForSixHours(machine, programs);
        }),
    },
    {
      name: name("in the middle of the rollback: taken back, and not tried again"),
      play: () =>
        onMachine(programs, short, async (machine) => {
          await machine.update(mute(VERSION));
          await machine.untilSwapped();
          await hold(machine.container, "before restart pbx-agent.service");
          await waitHeld(machine.container, "before restart pbx-agent.service");
          await machine.setClock(days);
          await open(machine.container);
          await heldForSixHours(machine, programs);
        }),
    },
    {
      name: name("after the rollback: still not tried again, across a restart too"),
      play: () =>
        onMachine(programs, short, async (machine) => {
          await machine.update(mute(VERSION));
          await judge(machine, {
            runs: programs.first,
            previous: programs.first,
            rolledBack: VERSION,
          });
          await machine.setClock(days);
          await machine.container.run(["systemctl", "restart", "pbx-agent.service"]);
          await heldForSixHours(machine, programs);
        }),
    },
  ];
}

/** Six hours by the corrected clock, whatever the machine's own says. */
async function heldForSixHours(machine: Machine, { first }: Programs): Promise<void> {
  await judge(machine, { runs: first, previous: first, rolledBack: VERSION });
  const syncs = machine.syncs().length;
  await machine.until("five more syncs", () => machine.syncs().length > syncs + 5 || undefined);
  await judge(machine, { runs: first, previous: first, rolledBack: VERSION });
  assert.equal(machine.files.asked(VERSION).length, 1, "it is fetched again");
  const status = await machine.statusText();
  const again = /^update +0\.2\.0 not before (\S+) \(rollback\)/m.exec(status)?.[1] ?? "";
  const hours = (Date.parse(again) - Date.now()) / 3_600_000;
  assert.ok(hours > 5.9 && hours < 6.02, status);
}
