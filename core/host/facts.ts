import type { Disk } from "../ports/disk.ts";

/** Facts about the node for its report (`node` in protocol §4). */
export interface HostFacts {
  /** Another one after every boot; "" when unknown. */
  readonly bootId: string;
  /** Whole seconds since the boot. */
  readonly uptimeSeconds: number;
  /** The distribution's name for people; "" when unknown. */
  readonly os: string;
  /** The kernel's release, as `uname -r` prints it; "" when unknown. */
  readonly kernel: string;
  /** What new programs could take without swapping. */
  readonly memoryAvailableBytes: number;
  /** Room on the file system of /var/lib, which k3s and the agent write to. */
  readonly diskFreeBytes: number;
}

/** Files of this kind are small; anything larger is not what it claims to be. */
const MAX_BYTES = 64 * 1024;

/**
 * Reads the node's facts. One that cannot be read is "" or 0: a report that lacks a fact is worth more
 * than none.
 */
export async function readHostFacts(disk: Disk): Promise<HostFacts> {
  const free = await disk.freeBytes("/var/lib");
  return {
    bootId: parseBootId(await text(disk, "/proc/sys/kernel/random/boot_id")) ?? "",
    uptimeSeconds: parseUptimeSeconds(await text(disk, "/proc/uptime")) ?? 0,
    os: parseOsRelease(await osRelease(disk)).prettyName,
    kernel: kernelRelease(await text(disk, "/proc/sys/kernel/osrelease")),
    memoryAvailableBytes: parseMemAvailable(await text(disk, "/proc/meminfo")) ?? 0,
    diskFreeBytes: free.ok ? free.value : 0,
  };
}

/** The file in /etc wins over the one that the distribution ships (os-release(5)). */
async function osRelease(disk: Disk): Promise<string> {
  return await text(disk, "/etc/os-release") || await text(disk, "/usr/lib/os-release");
}

async function text(disk: Disk, path: string): Promise<string> {
  const read = await disk.read(path, MAX_BYTES);
  return read.ok && read.value !== null ? new TextDecoder().decode(read.value) : "";
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

/** The UUID of a /proc/sys/kernel/random/boot_id; null where there is none. */
export function parseBootId(bootId: string): string | null {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.exec(bootId.trim())?.[0] ?? null;
}

/** The release in a /proc/sys/kernel/osrelease. */
export function kernelRelease(osrelease: string): string {
  return osrelease.trim();
}

/** What an os-release(5) file says; without PRETTY_NAME the name is made of NAME and VERSION. */
export function parseOsRelease(text: string): { prettyName: string; imageVersion?: string } {
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, key, value] = /^([A-Z][A-Z0-9_]*)=(.*?)\s*$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) values.set(key, unquote(value));
  }
  const parts = [values.get("NAME"), values.get("VERSION")].filter((part) => part !== undefined);
  const imageVersion = values.get("IMAGE_VERSION");
  return {
    prettyName: values.get("PRETTY_NAME") || parts.join(" "),
    ...(imageVersion === undefined ? {} : { imageVersion }),
  };
}

/** A value as a shell would read it: quotes taken off, escaped quotes, dollars and backslashes bared. */
function unquote(value: string): string {
  const double = /^"(.*)"$/.exec(value)?.[1];
  if (double !== undefined) return double.replace(/\\(["$`\\])/g, "$1");
  return /^'(.*)'$/.exec(value)?.[1] ?? value;
}
