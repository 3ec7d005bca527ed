import assert from "node:assert/strict";
import type { Container } from "../../lab/container.ts";
import { BIN, type Machine, TRIAL_FILE } from "./machine.ts";
import type { Program } from "./programs.ts";

/** What the machine has to be after a row. */
export interface Verdict {
  /** The program that runs. */
  readonly runs: Program;
  /** The one before it, kept; null where none was ever put aside. */
  readonly previous: Program | null;
  /** The version that was taken back and that the portal heard of; null where none was. */
  readonly rolledBack: string | null;
  /** The rollback was killed: until the next boot systemd remembers a failure of a unit that is gone. */
  readonly killed?: boolean;
}

/** What is inside, as a shell tells it in one go. */
const LOOK = `
pid=$(systemctl show --property=MainPID --value pbx-agent.service)
echo "unit $(systemctl is-active pbx-agent.service)"
echo "enabled $(systemctl is-enabled pbx-agent.service)"
echo "runs $(sha256sum < /proc/$pid/exe | cut -c 1-64)"
echo "program $(sha256sum < ${BIN} | cut -c 1-64)"
echo "previous $([ -e ${BIN}.prev ] && sha256sum < ${BIN}.prev | cut -c 1-64)"
for process in /proc/[0-9]*; do
  # What the agent has just forked is the agent's program until it becomes systemctl.
  [ "$(sed -n 's/^PPid:[^0-9]*//p' $process/status)" = "$pid" ] && continue
  case "$(readlink $process/exe)" in
  ${BIN}*) echo "process \${process#/proc/}" ;;
  esac
done
echo "main $pid"
echo "loaded $(systemctl show --property=LoadState --value pbx-agent-rollback.timer)"
for state in $(systemctl show --property=ActiveState --value pbx-agent-rollback.service pbx-agent-rollback.timer); do
  echo "rollback $state"
done
cd /var/lib/pbx-agent
for name in bin/* *; do echo "file $name"; done
cd /etc/systemd/system
for name in pbx* timers.target.wants/pbx*; do [ -e $name ] && echo "unitfile $name"; done
exit 0
`;

/** What the state directory may hold when no update is open. */
const FILES =
  /^(bin|bin\/pbx-agent(\.prev)?|(identity|state|bootstrap|release|snapshots)\.json|history\.jsonl|lock|ops)$/;
const UNIT_FILES = ["pbx-agent-rollback.service.d", "pbx-agent.service", "pbx-agent.service.d"];

/**
 * Waits until the update is over, then holds the machine against the verdict: exactly one agent, which is
 * the right program and syncs, and nothing left of the update.
 */
export async function judge(machine: Machine, verdict: Verdict): Promise<void> {
  const { runs, previous, rolledBack, killed = false } = verdict;
  const { container } = machine;
  await machine.until(`pbx-agent ${runs.version} to sync with the update over`, async () => {
    const report = machine.report();
    assert.equal(report?.agent.version, runs.version);
    assert.equal(report?.agent.rolled_back?.from ?? null, rolledBack);
    const left = [TRIAL_FILE, `${BIN}.new`, "/etc/systemd/system/pbx-agent-rollback.timer"];
    for (const path of left) assert.ok(!await container.exists(path), `${path} is still there`);
    // Stopping is what it does last.
    const units = "pbx-agent-rollback.service pbx-agent-rollback.timer pbx-agent.service";
    const states = await container.exec(["sh", "-c", `systemctl is-active ${units}`]);
    const [rollback, ...others] = states.stdout.trimEnd().split("\n");
    assert.ok(rollback === "inactive" || killed && rollback === "failed", rollback);
    assert.deepEqual(others, ["inactive", "active"]);
    return true;
  });
  const syncs = machine.syncs().length;
  await machine.until("another good sync", () => machine.syncs().slice(syncs + 1).includes(200));

  // A program that was killed a moment ago may still have to come back.
  const told = await machine.until("the unit to be active", async () => {
    const seen = await look(container);
    return seen.get("unit")?.join() === "active" ? seen : undefined;
  });
  const one = (name: string) => told.get(name)?.join();
  assert.equal(one("enabled"), "enabled");
  assert.equal(one("process"), one("main"), "processes of agents beside the unit's main one");
  assert.equal(one("program"), runs.sha256, `${BIN} is another program`);
  assert.equal(one("runs"), runs.sha256, "another program runs");
  assert.equal(machine.report()?.agent.sha256, runs.sha256);
  assert.equal(one("previous"), previous?.sha256 ?? "", `${BIN}.prev is another program`);
  assert.equal(one("loaded"), "not-found", "systemd still knows the rollback's timer");
  assert.deepEqual(told.get("rollback")?.filter((state) => state === "active"), []);
  assert.deepEqual(told.get("file")?.filter((name) => !FILES.test(name)), []);
  assert.deepEqual(told.get("unitfile"), UNIT_FILES);
  assert.deepEqual(machine.portal.portal.memory.breaches, []);
  const state = JSON.parse(await container.readFile("/var/lib/pbx-agent/state.json"));
  if (rolledBack === null) assert.equal(state.update.rolled_back, null);
  const codes = machine.report()?.conditions.map(({ code }) => code) ?? [];
  assert.equal(codes.includes("rolled_back"), rolledBack !== null, codes.join());
}

/** What the machine shows, by the first word of each line of {@link LOOK}. */
async function look(container: Container): Promise<ReadonlyMap<string, readonly string[]>> {
  const told = new Map<string, string[]>();
  for (const line of (await container.run(["sh", "-c", LOOK])).trimEnd().split("\n")) {
    const [name = "", value = ""] = line.split(" ");
    told.set(name, [...told.get(name) ?? [], value]);
  }
  return told;
}
