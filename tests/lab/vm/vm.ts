import { join } from "node:path";
import { waitUntil } from "../wait_until.ts";
import { createConsole, type VmConsole } from "./console.ts";
import { type QemuEnd, type QemuOptions, type RunningQemu, startQemu } from "./qemu.ts";

/** What a machine is made of, and who hears its console. */
export interface VmOptions extends QemuOptions {
  readonly onLine?: (line: string) => void;
  /** Called before every start, while the disk is nobody's. */
  readonly beforeBoot?: (boot: number) => Promise<void>;
}

/** A virtual machine with UEFI firmware; every reboot is a new run of QEMU on the same disk. */
export interface Vm {
  readonly console: VmConsole;
  /** How often it was started so far. */
  boots(): number;
  /** How its boots ended, oldest first. */
  ends(): readonly QemuEnd[];
  /** Starts it; it then goes through as many reboots as it likes. */
  powerOn(): Promise<void>;
  /** Ends it at once, as when the power is cut; it stays off. */
  cut(): Promise<void>;
  /** Runs a line of shell inside; gives what it printed, throws unless it ends with 0. */
  run(command: string, timeoutMs?: number): Promise<string>;
  /** `systemctl reboot` inside; returns when the next boot begins. */
  reboot(): Promise<void>;
  /** Ends what runs. */
  stop(): Promise<void>;
}

const COMMAND_TIMEOUT_MS = 180_000;
const START_TIMEOUT_MS = 30_000;
const REBOOT_TIMEOUT_MS = 120_000;

/** Prepares a machine that is off. */
export function createVm(options: VmOptions): Vm {
  const log = createConsole(join(options.folder, "serial.log"), options.onLine);
  const ends: QemuEnd[] = [];
  let boots = 0;
  let wanted = false;
  let running: RunningQemu | undefined;
  let loop: Promise<void> = Promise.resolve();

  async function runUntilOff(): Promise<void> {
    while (wanted) {
      boots++;
      log.mark(boots);
      await options.beforeBoot?.(boots);
      running = await startQemu(options);
      // Cut while it was started.
      if (!wanted) running.kill();
      const reading = log.read(running.serial);
      const end = await running.ended;
      await reading;
      running = undefined;
      ends.push(end);
      if (end.reason !== "guest-reset") wanted = false;
    }
  }

  async function run(command: string, timeoutMs = COMMAND_TIMEOUT_MS): Promise<string> {
    if (!wanted) throw new Error("the machine is off");
    const now = await waitUntil("QEMU to start", () => Promise.resolve(running), {
      timeoutMs: START_TIMEOUT_MS,
    });
    const { code, output } = await now.shell.run(command, timeoutMs);
    if (code !== 0) throw new Error(`in the machine: ${command} ended with ${code}: ${output}`);
    return output;
  }

  async function cut(): Promise<void> {
    wanted = false;
    running?.kill();
    await loop;
  }

  async function reboot(): Promise<void> {
    const before = boots;
    // A moment later, so that there is an answer first.
    await run("(sleep 1; systemctl reboot) >/dev/null 2>&1 &");
    await waitUntil("the next boot", () => Promise.resolve(boots > before || undefined), {
      timeoutMs: REBOOT_TIMEOUT_MS,
    });
  }

  return {
    console: log,
    boots: () => boots,
    ends: () => ends,
    async powerOn() {
      await loop;
      wanted = true;
      loop = runUntilOff();
      loop.catch(() => {});
      await waitUntil("QEMU to start", () => Promise.resolve(running), {
        timeoutMs: START_TIMEOUT_MS,
      });
    },
    cut,
    run,
    reboot,
    async stop() {
      await cut();
      log.close();
    },
  };
}
