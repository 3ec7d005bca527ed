import { dirname, join } from "node:path";
import type { CommandOptions, CommandOutput } from "./command.ts";
import { createCgroups, removeCgroups } from "./container/cgroups.ts";
import { requireContainerHost } from "./container/host_checks.ts";
import { noteOwner, removeLeftovers } from "./container/leftovers.ts";
import { execInside } from "./container/leader.ts";
import type { Machine } from "./container/machine.ts";
import { createMachine } from "./container/machine.ts";
import type { BridgePlace, ContainerNetwork } from "./container/network.ts";
import { createNetwork } from "./container/network.ts";
import { mountDisk, mountOverlay, removeOverlay } from "./container/overlay.ts";
import type { LabProcess, LabProcessOptions } from "./lab_process.ts";
import { startLabProcess } from "./lab_process.ts";

/** What a container is made of. */
export interface ContainerOptions {
  /** At most 11 characters of `a-z0-9-`; one of its own when absent. */
  readonly name?: string;
  /** The root below every container's own writable layer; see `makeBaseRoot`. */
  readonly baseRoot: string;
  /** Host files and folders seen inside. */
  readonly bind?: readonly { host: string; guest: string; readOnly?: boolean }[];
  /** Folders inside that are disks of their own, of a size that a test can fill; in memory. */
  readonly disks?: readonly { readonly guest: string; readonly mebibytes: number }[];
  /**
   * `own` (the default): a namespace with loopback and a default route; with a place on a bridge it
   * reaches the others there. `host`: the host's.
   */
  readonly network?: "host" | "own" | BridgePlace;
  /** Lays out files in the root before the first boot, so that units in it start with it. */
  readonly prepare?: (root: string) => Promise<void>;
}

/** A machine with a real systemd, made of namespaces. */
export interface Container {
  readonly name: string;
  /** Runs a command inside as root. Its exit code is a result; a time-out throws. */
  exec(args: readonly string[], options?: CommandOptions): Promise<CommandOutput>;
  /** Like `exec`, for a command that has to succeed: gives its stdout, throws with its stderr. */
  run(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Writes a file inside, with its folders; `mode` 0644 when absent. */
  writeFile(path: string, content: string | Uint8Array, mode?: number): Promise<void>;
  readFile(path: string): Promise<string>;
  /** Whether there is something at a path; a link that leads nowhere is nothing. */
  exists(path: string): Promise<boolean>;
  /** The identity of the present boot. */
  bootId(): Promise<string>;
  /** `systemctl reboot` inside; returns when the next boot is up. */
  reboot(): Promise<void>;
  /** Returns when the boot after `bootId` is up, whoever asked for it. */
  waitRebooted(bootId: string): Promise<void>;
  /** Every process inside dies at once; then the machine boots again from the same disk. */
  powerCut(): Promise<void>;
  /** Cuts everything but loopback, and undoes it; only with a network of its own. */
  cutNetwork(): Promise<void>;
  restoreNetwork(): Promise<void>;
  /** Starts a program of the host in the container's network: both share 127.0.0.1. */
  runInNetwork(program: string, args: readonly string[], options?: LabProcessOptions): LabProcess;
  /** Prints the console from its beginning and goes on, through reboots; the journal goes there too. */
  followConsole(): LabProcess;
  /** The processes of a service that runs inside, as the host numbers them. */
  hostPids(service: string): Promise<number[]>;
  /** Shuts down and removes everything: processes, cgroups, mounts, namespaces, files. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Boots a fresh machine on `baseRoot` and returns when its systemd has started everything. */
export async function startContainer(options: ContainerOptions): Promise<Container> {
  await requireContainerHost();
  await removeLeftovers();
  const name = options.name ?? freshName();
  const cleanups: (() => Promise<void>)[] = [];
  const cleanUp = async () => {
    for (let undo = cleanups.pop(); undo !== undefined; undo = cleanups.pop()) await undo();
  };
  try {
    const overlay = await mountOverlay(options.baseRoot, name);
    cleanups.push(async () => await removeOverlay(overlay.directory));
    await noteOwner(overlay.directory, name);
    const disks = [];
    for (const { guest, mebibytes } of options.disks ?? []) {
      disks.push({ host: await mountDisk(overlay.directory, mebibytes), guest });
    }
    await options.prepare?.(overlay.root);
    const place = typeof options.network === "object" ? options.network : undefined;
    const network = options.network === "host" ? undefined : await createNetwork(name, place);
    if (network !== undefined) cleanups.push(network.remove);
    cleanups.push(async () => await removeCgroups(name));
    const procsFiles = await createCgroups(name);
    const consoleLog = join(overlay.directory, "console.log");
    await Deno.writeTextFile(consoleLog, "");
    const machine = createMachine({
      name,
      root: overlay.root,
      procsFiles,
      binds: [...options.bind ?? [], ...disks],
      networkPath: network?.path,
      consoleLog,
    });
    cleanups.push(machine.shutDown);
    await machine.powerOn();
    return containerOf({ name, machine, network, consoleLog, cleanups, cleanUp });
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

/** What a running container is made of. */
interface Parts {
  readonly name: string;
  readonly machine: Machine;
  readonly network: ContainerNetwork | undefined;
  readonly consoleLog: string;
  /** Undone in reverse order by `cleanUp`. */
  readonly cleanups: (() => Promise<void>)[];
  readonly cleanUp: () => Promise<void>;
}

function containerOf(parts: Parts): Container {
  const { name, machine, network, consoleLog, cleanups, cleanUp } = parts;
  /** The container's file system as it sees it itself, its own /run and /tmp included. */
  const inside = async (path: string) => `/proc/${await machine.leader()}/root${path}`;

  const exec: Container["exec"] = async (args, options) =>
    await execInside(await machine.leader(), args, options);

  const run: Container["run"] = async (args, options) => {
    const output = await exec(args, options);
    if (output.code === 0) return output.stdout;
    const said = (output.stderr.trim() || output.stdout.trim()).slice(-2_000);
    throw new Error(`in container: ${args.join(" ")} ended with ${output.code}: ${said}`);
  };

  const writeFile: Container["writeFile"] = async (path, content, mode = 0o644) => {
    const target = await inside(path);
    await Deno.mkdir(dirname(target), { recursive: true });
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await Deno.writeFile(target, bytes, { mode });
    await Deno.chmod(target, mode);
  };

  const readFile: Container["readFile"] = async (path) =>
    await Deno.readTextFile(await inside(path));

  const exists: Container["exists"] = async (path) =>
    await Deno.stat(await inside(path)).then(() => true, () => false);

  const bootId = async () => (await readFile("/proc/sys/kernel/random/boot_id")).trim();

  const waitRebooted = async (before: string) =>
    await machine.waitRunning(async () => await bootId() !== before);

  const reboot = async () => {
    const before = await bootId();
    await exec(["systemctl", "reboot"]);
    await waitRebooted(before);
  };

  const powerCut = async () => {
    await machine.cutPower();
    await machine.powerOn();
  };

  /** Like the container itself, what runs beside it must not outlive a test run that is killed. */
  const startBeside = (command: readonly string[], options?: LabProcessOptions) => {
    const process = startLabProcess("setpriv", ["--pdeathsig", "TERM", ...command], options);
    cleanups.push(async () => void await process.stop());
    return process;
  };

  const runInNetwork: Container["runInNetwork"] = (program, args, options) => {
    const enter = network === undefined ? [] : ["nsenter", `--net=${network.path}`];
    return startBeside([...enter, program, ...args], options);
  };

  const hostPids: Container["hostPids"] = async (service) => {
    const list = await readFile(`/sys/fs/cgroup/system.slice/${service}/cgroup.procs`);
    return list.split("\n").filter((line) => line !== "").map(Number);
  };

  return {
    name,
    exec,
    run,
    writeFile,
    readFile,
    exists,
    bootId,
    reboot,
    waitRebooted,
    powerCut,
    cutNetwork: async () => await ownNetwork(network).cut(),
    restoreNetwork: async () => await ownNetwork(network).restore(),
    runInNetwork,
    followConsole: () => startBeside(["tail", "--lines=+1", "--follow", consoleLog]),
    hostPids,
    stop: cleanUp,
    [Symbol.asyncDispose]: cleanUp,
  };
}

function ownNetwork(network: ContainerNetwork | undefined): ContainerNetwork {
  if (network === undefined) throw new Error("this container uses the host's network");
  return network;
}

/** Unique on the machine while this process lives, and short enough for a network device. */
function freshName(): string {
  const random = crypto.getRandomValues(new Uint8Array(3));
  return `pbx-${[...random].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
