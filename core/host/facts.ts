import type { Disk } from "../ports/disk.ts";
import type { Ports } from "../ports/mod.ts";
import { STATE_DIRECTORY } from "../state/paths.ts";

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
  /** Room on the file system of the state directory, which as a rule is that of k3s too. */
  readonly diskFreeBytes: number;
}

/** Files of this kind are small; anything larger is not what it claims to be. */
const MAX_BYTES = 64 * 1024;

/**
 * Reads the node's facts. One that cannot be read is "" or 0: a report that lacks a fact is worth more
 * than none.
 */
export async function readHostFacts(
  { disk, machine }: Pick<Ports, "disk" | "machine">,
  osRelease = readOsRelease,
): Promise<HostFacts> {
  const free = await disk.freeBytes(STATE_DIRECTORY);
  const facts = await machine.facts();
  return {
    bootId: facts.bootId ?? "",
    uptimeSeconds: facts.uptimeSeconds ?? 0,
    os: (await osRelease(disk)).prettyName,
    kernel: facts.kernel ?? "",
    memoryAvailableBytes: facts.memoryAvailableBytes ?? 0,
    diskFreeBytes: free.ok ? free.value : 0,
  };
}

/** What the system says it is. The file in /etc wins over the one that the distribution ships (os-release(5)). */
export async function readOsRelease(disk: Disk): Promise<ReturnType<typeof parseOsRelease>> {
  return parseOsRelease(
    await text(disk, "/etc/os-release") || await text(disk, "/usr/lib/os-release"),
  );
}

/** Reads and parses what the system says it is once for each file. */
export function openOsReader(): typeof readOsRelease {
  let last:
    | { readonly file: string; readonly says: Awaited<ReturnType<typeof readOsRelease>> }
    | null = null;
  return async (disk) => {
    const stat = await disk.stat("/etc/os-release");
    // Without a file in /etc, or without knowing which one it is, it is read every time.
    if (!stat.ok || stat.value === null) return await readOsRelease(disk);
    const file = `${stat.value.size} ${stat.value.modifiedAt}`;
    if (last?.file !== file) last = { file, says: await readOsRelease(disk) };
    return last.says;
  };
}

async function text(disk: Disk, path: string): Promise<string> {
  const read = await disk.read(path, MAX_BYTES);
  return read.ok && read.value !== null ? new TextDecoder().decode(read.value) : "";
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
