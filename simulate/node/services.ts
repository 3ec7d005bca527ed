import type { FakeDisk } from "../../adapters/fake/disk.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Systemd, UnitState } from "../../core/ports/systemd.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import {
  AGENT_UNIT,
  K3S_UNIT,
  ROLLBACK_SERVICE,
  ROLLBACK_TIMER,
  SYSTEMD_DIRECTORY,
} from "../../core/state/paths.ts";
import type { Cluster } from "./cluster.ts";

/** The agent's unit, as its supervisor runs it. */
export interface AgentUnit {
  isUp(): boolean;
  start(): void;
  stop(): Promise<void>;
}

/** The service manager of one simulated machine: k3s, the agent, and the timer of its rollback. */
export interface Services extends Systemd {
  /** The machine boots: what is enabled is started. */
  boot(): void;
  /** Nothing runs any more. */
  halt(): void;
}

const TIMER_FILE = `${SYSTEMD_DIRECTORY}/${ROLLBACK_TIMER}`;

/** A manager that runs nothing yet. `rollBack`: the timer went off. */
export function createServices(
  { clock, disk, cluster, agent, rollBack, reboot }: {
    readonly clock: Clock;
    readonly disk: FakeDisk;
    readonly cluster: Cluster;
    readonly agent: AgentUnit;
    readonly rollBack: () => void;
    readonly reboot: () => void;
  },
): Services {
  /** Counts activations of the timer, so that one that was stopped does not go off. */
  let turn = 0;
  let isTimerUp = false;
  let isTimerEnabled = false;

  const done: Promise<Result<void, never>> = Promise.resolve(ok(undefined));

  async function runTimer(): Promise<void> {
    const seconds = /^OnActiveSec=([0-9]+)s$/m.exec(disk.text(TIMER_FILE) ?? "")?.[1];
    const mine = ++turn;
    isTimerUp = true;
    await clock.sleep(Number(seconds) * 1000);
    if (mine !== turn) return;
    isTimerUp = false;
    rollBack();
  }

  function noUnit(verb: string, unit: string) {
    const message = `systemctl ${verb} ${unit}: unit ${unit} not found`;
    return fail({ code: "failed" as const, program: "/usr/bin/systemctl", message });
  }

  const isKnown = (unit: string) =>
    unit === K3S_UNIT || unit === AGENT_UNIT ||
    ((unit === ROLLBACK_TIMER || unit === ROLLBACK_SERVICE) && disk.text(TIMER_FILE) !== null);

  function unitState(unit: string): UnitState {
    if (unit === K3S_UNIT) return cluster.unit();
    if (unit === AGENT_UNIT) return agent.isUp() ? "active" : "inactive";
    if (unit === ROLLBACK_TIMER) return isTimerUp ? "active" : "inactive";
    return "unknown";
  }

  async function start(unit: string) {
    if (!isKnown(unit)) return noUnit("start", unit);
    if (unit === K3S_UNIT) cluster.start();
    if (unit === AGENT_UNIT) agent.start();
    if (unit === ROLLBACK_TIMER && !isTimerUp) void runTimer();
    return await done;
  }

  async function stop(unit: string) {
    if (unit === K3S_UNIT) await cluster.stop();
    if (unit === AGENT_UNIT) await agent.stop();
    if (unit === ROLLBACK_TIMER) {
      turn += 1;
      isTimerUp = false;
    }
    return await done;
  }

  return {
    unitState: (unit) => Promise.resolve(unitState(unit)),
    start,
    stop,
    async restart(unit) {
      if (!isKnown(unit)) return noUnit("restart", unit);
      // Queued: systemd does not wait for the end of k3s.
      if (unit === K3S_UNIT) void cluster.restart();
      else {
        await stop(unit);
        await start(unit);
      }
      return await done;
    },
    enable(unit) {
      if (!isKnown(unit)) return Promise.resolve(noUnit("enable", unit));
      if (unit === K3S_UNIT) cluster.isEnabled = true;
      if (unit === ROLLBACK_TIMER) isTimerEnabled = true;
      return done;
    },
    disable(unit) {
      if (unit === K3S_UNIT) cluster.isEnabled = false;
      if (unit === ROLLBACK_TIMER) isTimerEnabled = false;
      return done;
    },
    daemonReload: () => done,
    reboot() {
      reboot();
      return done;
    },
    journal: (unit) => Promise.resolve(ok([`a line of ${unit}`])),
    boot() {
      if (cluster.isEnabled) cluster.start();
      if (isTimerEnabled && disk.text(TIMER_FILE) !== null) void runTimer();
    },
    halt() {
      turn += 1;
      isTimerUp = false;
      cluster.halt();
    },
  };
}
