import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { UnitState } from "../ports/systemd.ts";
import { fail, ok, type Result } from "../result.ts";
import { AGENT_UNIT, parentOf, PREVIOUS_PROGRAM_FILE, PROGRAM_FILE } from "../state/paths.ts";
import type { InstallPorts } from "./install.ts";
import { disarmTimer } from "./timer.ts";
import { readTrial, type Trial, writeTrial } from "./trial.ts";

/** What a rollback works through. */
export interface RollbackPorts extends InstallPorts {
  readonly clock: Clock;
  readonly log: Log;
}

/** How often the agent is started, and how long is waited between, milliseconds. */
const STARTS = 6;
const PAUSE_MS = 5_000;
/** How often, and how far apart in milliseconds, it is looked whether it runs. */
const LOOKS = 40;
const LOOK_MS = 250;

/** How it ended: `nothing` is on trial (any more), or the previous program is back and started. */
export type RollbackEnd = "nothing" | "rolled_back";

/**
 * `pbx-agent.prev rollback`: takes back the update that is on trial. Run by its timer; can be repeated
 * after any cut. Needs no room on the disk but for writing down what it did. The error is for people.
 */
export async function rollBack(ports: RollbackPorts): Promise<Result<RollbackEnd, string>> {
  const { disk, systemd, programs, clock, log } = ports;
  const open = await readOpen(ports);
  if (open === null) return ok("nothing");
  if (open !== "unknown" && open.rolled_back !== undefined) {
    // Done before, up to the start.
    const started = await startAgent(ports, "start");
    return started.ok ? await tidied(ports) : started;
  }
  const state = await systemd.unitState(AGENT_UNIT);
  const stopped = await systemd.stop(AGENT_UNIT);
  if (!stopped.ok) log.write("warn", "rollback", stopped.error.message);

  // It may have synced until a moment ago: then it stays, and is only started again.
  const trial = await readOpen(ports);
  if (trial !== null) {
    const linked = await programs.link(PREVIOUS_PROGRAM_FILE, PROGRAM_FILE);
    if (!linked.ok) {
      await startAgent(ports, "restart");
      return fail(linked.error.message);
    }
    await disk.syncDirectory(parentOf(PROGRAM_FILE));
    const reason = `no successful sync in time; ${AGENT_UNIT} was ${state}`;
    log.write("warn", "rolled_back", `the update of pbx-agent is taken back: ${reason}`);
    if (trial !== "unknown") {
      const at = new Date(clock.now()).toISOString();
      const written = await writeTrial(disk, { ...trial, rolled_back: { at, reason } });
      if (!written.ok) log.write("warn", "rollback", written.error.message);
    }
  }
  // A restart, since a stop that failed may have left the new one running.
  const started = await startAgent(ports, "restart");
  if (!started.ok) return started;
  return trial === null ? ok("nothing") : await tidied(ports);
}

/**
 * Starts the agent and sees it run. A start that is only ordered proves nothing: after a program that
 * ended again and again systemd takes no further start for a while ("start request repeated too quickly").
 */
async function startAgent(
  { systemd, clock, log }: RollbackPorts,
  verb: "start" | "restart",
): Promise<Result<void, string>> {
  let why = "";
  for (let attempt = 1; attempt <= STARTS; attempt++) {
    const ordered = await systemd[verb](AGENT_UNIT);
    let state: UnitState = "unknown";
    for (let look = 0; ordered.ok && look < LOOKS; look++) {
      state = await systemd.unitState(AGENT_UNIT);
      if (state === "active") return ok(undefined);
      if (state === "failed") break;
      await clock.sleep(LOOK_MS);
    }
    why = ordered.ok ? `${AGENT_UNIT} was started and is ${state}` : ordered.error.message;
    log.write("warn", "rollback", `attempt ${attempt} of ${STARTS}: ${why}`);
    if (attempt < STARTS) await clock.sleep(PAUSE_MS);
  }
  return fail(why);
}

/** The agent runs again, so a timer that cannot be taken away now is no failure: the agent does it too. */
async function tidied(ports: RollbackPorts): Promise<Result<RollbackEnd, string>> {
  const disarmed = await disarmTimer(ports);
  if (!disarmed.ok) ports.log.write("warn", "rollback", disarmed.error);
  return ok("rolled_back");
}

/**
 * The update that is on trial, or was taken back; null where there is none. One whose file cannot be
 * read is one all the same: the file goes with a successful sync.
 */
async function readOpen({ disk }: RollbackPorts): Promise<Trial | "unknown" | null> {
  const found = await readTrial(disk);
  if (!found.ok) return "unknown";
  if (found.value.kind === "absent") return null;
  // Another agent's, on a copied disk: its programs are none to go back to here.
  if (found.value.kind === "unreadable" && found.value.owner !== undefined) return null;
  return found.value.kind === "loaded" ? found.value.value : "unknown";
}
