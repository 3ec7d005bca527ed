import { execInside, findLeader } from "./leader.ts";
import { waitUntil } from "../wait_until.ts";

/** systemd-nspawn ends with this when the container asked for a reboot. */
const REBOOT_STATUS = 133;
const BOOT_TIMEOUT_MS = 60_000;
/** nspawn itself gets SIGTERM for an orderly shutdown; a guest that hangs in it is cut off. */
const SHUTDOWN_TIMEOUT_MS = 20_000;

/** What a machine is started from. */
export interface MachineSettings {
  readonly name: string;
  readonly root: string;
  readonly procsFiles: readonly string[];
  readonly binds: readonly { host: string; guest: string; readOnly?: boolean }[];
  readonly networkPath: string | undefined;
  /** File that receives the console of every boot. */
  readonly consoleLog: string;
}

/** The running part of a container: nspawn, started again whenever the guest reboots. */
export interface Machine {
  /** Host pid of the guest's process 1; throws while there is none. */
  leader(): Promise<number>;
  powerOn(): Promise<void>;
  /** Orderly, as `poweroff` would. */
  shutDown(): Promise<void>;
  /** At once: SIGKILL to process 1 takes every process of the guest with it. */
  cutPower(): Promise<void>;
  /** Waits until systemd has started everything in a boot that `isTheOne` (any, when absent). */
  waitRunning(isTheOne?: () => Promise<boolean>): Promise<void>;
}

/** Prepares a machine; nothing runs before {@link Machine.powerOn}. */
export function createMachine(settings: MachineSettings): Machine {
  let nspawn: Deno.ChildProcess | undefined;
  let over: Promise<void> = Promise.resolve();

  /** Runs the guest through as many reboots as it asks for. */
  async function runUntilOff(first: Deno.ChildProcess): Promise<void> {
    for (let child = first;; child = nspawn = spawnNspawn(settings)) {
      const { code } = await child.status;
      if (code !== REBOOT_STATUS) break;
    }
    nspawn = undefined;
  }

  async function currentLeader(): Promise<number | undefined> {
    return nspawn === undefined ? undefined : await findLeader(nspawn.pid);
  }

  async function leader(): Promise<number> {
    const pid = await currentLeader();
    if (pid === undefined) {
      throw new Error(`container ${settings.name} is not running; see ${settings.consoleLog}`);
    }
    return pid;
  }

  async function waitRunning(isTheOne?: () => Promise<boolean>): Promise<void> {
    await waitUntil(`container ${settings.name} to be up`, async () => {
      const pid = await currentLeader();
      if (pid === undefined || await isTheOne?.() === false) return undefined;
      const asked = await execInside(pid, ["systemctl", "is-system-running", "--wait"]);
      // "degraded" is up as well: some unit of the test's own may have failed at boot.
      return /^(running|degraded)/.test(asked.stdout) ? true : undefined;
    }, { timeoutMs: BOOT_TIMEOUT_MS });
  }

  async function powerOn(): Promise<void> {
    if (nspawn !== undefined) throw new Error(`container ${settings.name} is running already`);
    nspawn = spawnNspawn(settings);
    over = runUntilOff(nspawn);
    await waitRunning();
  }

  async function shutDown(): Promise<void> {
    nspawn?.kill("SIGTERM");
    const timer = setTimeout(() => nspawn?.kill("SIGKILL"), SHUTDOWN_TIMEOUT_MS);
    await over;
    clearTimeout(timer);
  }

  async function cutPower(): Promise<void> {
    Deno.kill(await leader(), "SIGKILL");
    await over;
  }

  return { leader, powerOn, shutDown, cutPower, waitRunning };
}

/**
 * A shell puts itself into the container's cgroups and then becomes nspawn. The death signal has
 * nspawn shut the guest down when the test run is killed (KILL would leave the guest running).
 */
function spawnNspawn(settings: MachineSettings): Deno.ChildProcess {
  const script = 'log=$1; shift; while [ "$1" != -- ]; do echo $$ >"$1"; shift; done; shift; ' +
    'exec "$@" </dev/null >>"$log" 2>&1';
  const command = ["setpriv", "--pdeathsig", "TERM", "systemd-nspawn", ...nspawnFlags(settings)];
  return new Deno.Command("/bin/sh", {
    args: ["-c", script, "sh", settings.consoleLog, ...settings.procsFiles, "--", ...command],
    env: { SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: "1", SYSTEMD_NSPAWN_TMPFS_TMP: "0" },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

function nspawnFlags(settings: MachineSettings): string[] {
  const binds = settings.binds.map(({ host, guest, readOnly }) =>
    `--bind${readOnly === true ? "-ro" : ""}=${host}:${guest}`
  );
  const network = settings.networkPath === undefined
    ? []
    : [`--network-namespace-path=${settings.networkPath}`];
  return [
    "--quiet",
    "--boot",
    `--directory=${settings.root}`,
    `--machine=${settings.name}`,
    "--register=no",
    "--keep-unit",
    "--link-journal=no",
    "--resolv-conf=off",
    "--timezone=off",
    "--console=read-only",
    ...binds,
    ...network,
  ];
}
