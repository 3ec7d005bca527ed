import { join } from "node:path";
import type { VmParts } from "./parts.ts";
import { connectShell, type VmShell } from "./shell.ts";
import { connectLines } from "./socket_lines.ts";

/** What a machine is made of. */
export interface QemuOptions {
  readonly parts: VmParts;
  readonly disk: string;
  /** The firmware's variables; the machine changes them. */
  readonly variables: string;
  /** For its sockets. */
  readonly folder: string;
}

/** Why a run of QEMU ended. */
export interface QemuEnd {
  /** `guest-reset`, `guest-shutdown` or `guest-panic` as QEMU names them; `killed` when it said nothing. */
  readonly reason: string;
  /** The hardware's watchdog ended it. */
  readonly watchdog: boolean;
}

/** One run of QEMU: from power on to the next reset. */
export interface RunningQemu {
  readonly serial: ReadableStream<Uint8Array>;
  readonly shell: VmShell;
  readonly ended: Promise<QemuEnd>;
  kill(): void;
}

const MEMORY = "768M";

/** Starts QEMU without hardware acceleration: wherever tests run, it works, and is as slow. */
export async function startQemu(options: QemuOptions): Promise<RunningQemu> {
  const { parts, disk, variables, folder } = options;
  const sockets = { qmp: join(folder, "qmp"), shell: join(folder, "shell") };
  for (const socket of Object.values(sockets)) await Deno.remove(socket).catch(() => {});
  const child = new Deno.Command("setpriv", {
    args: [
      // A machine must not outlive a test run that is killed.
      ...["--pdeathsig", "KILL", "qemu-system-x86_64"],
      ...["-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max"],
      ...["-smp", "2", "-m", MEMORY, "-display", "none", "-monitor", "none", "-no-reboot"],
      ...["-drive", `if=pflash,format=raw,unit=0,readonly=on,file=${parts.firmware.code}`],
      ...["-drive", `if=pflash,format=raw,unit=1,file=${variables}`],
      ...["-drive", `if=none,id=disk,format=raw,file=${disk}`],
      ...["-device", "virtio-blk-pci,drive=disk,bootindex=1"],
      // Without its option ROM the firmware does not try to boot from it.
      ...["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="],
      ...["-device", "i6300esb", "-action", "watchdog=reset"],
      ...["-serial", "stdio", "-serial", `unix:${sockets.shell},server=on,wait=off`],
      ...["-qmp", `unix:${sockets.qmp},server=on,wait=off`],
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = new Response(child.stderr).text();
  let reason = "killed";
  let watchdog = false;
  try {
    const qmp = await connectLines(sockets.qmp, (line) => {
      const { event, data } = JSON.parse(line);
      if (event === "SHUTDOWN") reason = data.reason;
      if (event === "WATCHDOG") watchdog = true;
    });
    await qmp.send('{"execute": "qmp_capabilities"}');
    const shell = await connectShell(sockets.shell);
    const ended = (async () => {
      const { code } = await child.status;
      qmp.close();
      shell.close();
      const said = await errors;
      if (code !== 0 && reason !== "killed") throw new Error(`QEMU ended with ${code}: ${said}`);
      return { reason, watchdog };
    })();
    ended.catch(() => {});
    return { serial: child.stdout, shell, ended, kill: () => kill(child) };
  } catch (error) {
    kill(child);
    throw new Error(`QEMU does not start: ${await errors}`, { cause: error });
  }
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // It ended in between.
  }
}
