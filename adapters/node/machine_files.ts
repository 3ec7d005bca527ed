import type { Disk } from "../../core/ports/disk.ts";
import type { Machine, MachineProcess } from "../../core/ports/machine.ts";
import { fail, ok } from "../../core/result.ts";
import { BOOT_ID_FILE, parseBootId } from "./boot_id.ts";

/** Files of this kind are small; anything larger is not what it claims to be. */
const MAX_BYTES = 64 * 1024;

/**
 * A machine for labs (`--root DIR`), made of files as the kernel shows them: `DIR/proc/uptime` and so
 * on. They are read anew each time, so that a lab can boot its machine again.
 */
export function createFilesMachine(disk: Disk): Machine {
  async function text(path: string): Promise<string> {
    const read = await disk.read(path, MAX_BYTES);
    return read.ok && read.value !== null ? new TextDecoder().decode(read.value) : "";
  }

  return {
    async facts() {
      return {
        bootId: parseBootId(await text(BOOT_ID_FILE)),
        uptimeSeconds: parseUptimeSeconds(await text("/proc/uptime")),
        kernel: (await text("/proc/sys/kernel/osrelease")).trim() || null,
        memoryAvailableBytes: parseMemAvailable(await text("/proc/meminfo")),
        hostName: (await text("/proc/sys/kernel/hostname")).trim() || null,
      };
    },
    async processes() {
      const names = await disk.list("/proc");
      if (!names.ok) {
        return fail({ code: "failed", program: "/proc", message: names.error.message });
      }
      const found: MachineProcess[] = [];
      for (const name of names.value ?? []) {
        if (!/^[0-9]+$/.test(name)) continue;
        const commandLine = await text(`/proc/${name}/cmdline`);
        if (commandLine !== "") found.push({ pid: Number(name), commandLine });
      }
      return ok(found);
    },
  };
}

/** Bytes of `MemAvailable` in a /proc/meminfo; null where it has none. */
export function parseMemAvailable(meminfo: string): number | null {
  const kibibytes = /^MemAvailable:\s+([0-9]+) kB$/m.exec(meminfo)?.[1];
  return kibibytes === undefined ? null : Number(kibibytes) * 1024;
}

/** Whole seconds since the boot by a /proc/uptime; null where it says none. */
export function parseUptimeSeconds(uptime: string): number | null {
  const seconds = /^([0-9]+)(?:\.[0-9]+)?(?:\s|$)/.exec(uptime)?.[1];
  return seconds === undefined ? null : Number(seconds);
}
