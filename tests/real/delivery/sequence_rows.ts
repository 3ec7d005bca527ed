import assert from "node:assert/strict";
import type { Row } from "./lanes.ts";
import { onMachine } from "./machine.ts";
import { mute, type Programs } from "./programs.ts";
import { judge } from "./verdict.ts";

const PATIENT_S = 60;
const SHORT_S = 4;

/** One update after another, and what comes between. */
export function sequenceRows(programs: Programs): readonly Row[] {
  const { first, second, third } = programs;
  const tooOld = (release: string) => ({
    error: { code: "protocol_too_old", message: "", release },
  });
  return [
    {
      name: "two in a row: the one before is always kept",
      play: () =>
        onMachine(programs, { trial: PATIENT_S }, async (machine) => {
          await machine.update(second);
          await judge(machine, { runs: second, previous: first, rolledBack: null });
          await machine.update(third);
          await judge(machine, { runs: third, previous: second, rolledBack: null });
        }),
    },
    {
      name: "another version is wanted while one is on trial: that one proves itself first",
      play: () =>
        onMachine(programs, { trial: PATIENT_S }, async (machine) => {
          machine.offer(third);
          await machine.update(second);
          await machine.untilSwapped();
          await machine.want(third.version);
          await judge(machine, { runs: third, previous: second, rolledBack: null });
        }),
    },
    {
      name: "another version is wanted in the middle of a download",
      play: () =>
        onMachine(programs, { trial: PATIENT_S }, async (machine) => {
          await machine.update(second, [{ holdAfter: 100_000 }]);
          await machine.untilStep("fetch");
          await machine.update(third);
          await judge(machine, { runs: third, previous: first, rolledBack: null });
        }),
    },
    {
      name: "taken back, the version is not fetched again within six hours; another one is",
      play: () =>
        onMachine(programs, { trial: SHORT_S }, async (machine) => {
          const bad = mute("0.2.1");
          await machine.update(bad);
          await judge(machine, { runs: first, previous: first, rolledBack: bad.version });
          machine.offer(first);
          await machine.want(first.version);
          await machine.until("a report without the rollback", () => {
            return machine.report()?.agent.rolled_back === undefined || undefined;
          });
          await machine.want(bad.version);
          await machine.until("the condition", () => {
            const [failed] = machine.report()?.conditions.filter(({ message }) =>
              message.includes(bad.version)
            ) ?? [];
            return failed;
          });
          await machine.container.run(["systemctl", "restart", "pbx-agent.service"]);
          const syncs = machine.syncs().length;
          await machine.until("five more syncs", () =>
            machine.syncs().length > syncs + 5 || undefined);
          assert.equal(machine.files.asked(bad.version).length, 1);
          await machine.update(second);
          await judge(machine, { runs: second, previous: first, rolledBack: null });
        }),
    },
    {
      name: "426 while a download is under way: the release that it names is installed",
      play: () =>
        onMachine(programs, { trial: PATIENT_S }, async (machine) => {
          machine.offer(third);
          await machine.update(second, [{ holdAfter: 100_000 }]);
          await machine.untilStep("fetch");
          machine.spoilSyncs(426, {}, tooOld(third.version));
          await machine.untilSwapped();
          machine.mend();
          // What is desired goes on to be the other one: the 426 is over.
          await machine.want(third.version);
          await judge(machine, { runs: third, previous: first, rolledBack: null });
        }),
    },
    {
      name:
        "426 while a version is on trial: it is taken back, and what the 426 names is installed",
      play: () =>
        onMachine(programs, { trial: SHORT_S }, async (machine) => {
          machine.offer(third);
          await machine.update(second);
          await machine.untilSwapped();
          machine.spoilSyncs(426, {}, tooOld(third.version));
          await machine.until("the download of the named release", () => {
            return machine.files.asked(third.version).length > 0 || undefined;
          });
          await machine.untilSwapped();
          machine.mend();
          await machine.want(third.version);
          await judge(machine, { runs: third, previous: first, rolledBack: null });
        }),
    },
  ];
}
