import { onPath } from "../lab/command.ts";
import { findPart, type PartName } from "../lab/parts.ts";

/** The lab's programs that a suite may name. */
const PARTS = ["k3s", "etcd", "kube-apiserver", "kube-controller-manager", "versitygw"] as const;

/** Programs of the host that a suite may name, each with how a Debian machine gets it. */
const PROGRAMS: ReadonlyMap<string, string> = new Map([
  ["systemd-nspawn", "apt-get install systemd-container"],
  ["mmdebstrap", "apt-get install mmdebstrap"],
  ["ip", "apt-get install iproute2"],
  ["chromium", "apt-get install --no-install-recommends chromium fonts-dejavu-core"],
  ["openssl", "apt-get install openssl"],
  ["qemu-system-x86_64", "apt-get install qemu-system-x86"],
  ["ssh-keygen", "apt-get install openssh-client"],
  ["setpriv", "apt-get install util-linux"],
  ["objcopy", "apt-get install binutils"],
  ["cpio", "apt-get install cpio"],
  ["zstd", "apt-get install zstd"],
  ["sfdisk", "apt-get install fdisk"],
  ["mkfs.vfat", "apt-get install dosfstools"],
  ["mcopy", "apt-get install mtools"],
  ["mke2fs", "apt-get install e2fsprogs"],
]);

/**
 * What a suite says that it needs, in a line `// needs: root k3s systemd-nspawn` of its file.
 * Without that line it needs nothing.
 */
export function neededBy(source: string): readonly string[] {
  return /^\/\/ needs: (?<names>.+)$/m.exec(source)?.groups?.["names"]?.trim().split(/\s+/) ?? [];
}

/**
 * What is missing for these needs: one sentence each that says how to get it. A need that is not
 * known here is a mistake in the suite and counts as missing.
 */
export async function missingOf(
  needs: readonly string[],
  isRoot: boolean = Deno.uid() === 0,
): Promise<readonly string[]> {
  const missing = await Promise.all(needs.map((need) => whyMissing(need, isRoot)));
  return missing.filter((why) => why !== undefined);
}

async function whyMissing(need: string, isRoot: boolean): Promise<string | undefined> {
  if (need === "root") return isRoot ? undefined : "it needs root: run the same command as root";
  const howToGet = PROGRAMS.get(need);
  if (howToGet !== undefined) {
    return await onPath(need) ? undefined : `${need} is missing: ${howToGet}`;
  }
  if (!PARTS.some((part) => part === need)) return `"${need}" is nothing that a suite can need`;
  try {
    await findPart(need as PartName);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
