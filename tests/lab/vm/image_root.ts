import { basename, dirname, join } from "node:path";
import { mustRun } from "../command.ts";
import type { VmParts } from "./parts.ts";

/** Programs of the image, each with the libraries that it needs; where they stand in the packages. */
const PROGRAMS: readonly string[] = [
  "bin/busybox",
  "bin/cat",
  "bin/journalctl",
  "bin/rm",
  "bin/systemctl",
  "lib/systemd/systemd",
  "lib/systemd/systemd-journald",
  "lib/systemd/systemd-shutdown",
  "lib/systemd/systemd-socket-proxyd",
  "usr/bin/bootctl",
  "usr/bin/systemd-cgls",
  "usr/bin/systemd-run",
];

/** What the agent's program, which is on the state partition, is linked with. */
const AGENT_LIBRARIES = [
  "ld-linux-x86-64.so.2",
  "libc.so.6",
  "libdl.so.2",
  "libgcc_s.so.1",
  "libm.so.6",
  "libpthread.so.0",
  "librt.so.1",
];

const LIBRARY_FOLDERS = [
  "lib/x86_64-linux-gnu",
  "usr/lib/x86_64-linux-gnu",
  "usr/lib/x86_64-linux-gnu/systemd",
  "lib/x86_64-linux-gnu/systemd",
];

/** systemd's own units, without what needs udev, a login or a clock from the network. */
const UNITS = [
  "basic.target",
  "final.target",
  "local-fs-pre.target",
  "local-fs.target",
  "multi-user.target",
  "network-online.target",
  "network-pre.target",
  "network.target",
  "paths.target",
  "poweroff.target",
  "reboot.target",
  "shutdown.target",
  "slices.target",
  "sockets.target",
  "swap.target",
  "sysinit.target",
  "systemd-journald-dev-log.socket",
  "systemd-journald.service",
  "systemd-journald.socket",
  "systemd-poweroff.service",
  "systemd-reboot.service",
  "time-set.target",
  "time-sync.target",
  "timers.target",
  "umount.target",
];

/** In the order in which they are loaded: each after those that it needs. */
const MODULES = [
  "drivers/virtio/virtio_ring",
  "drivers/virtio/virtio",
  "drivers/virtio/virtio_pci_modern_dev",
  "drivers/virtio/virtio_pci_legacy_dev",
  "drivers/virtio/virtio_pci",
  "drivers/block/virtio_blk",
  "net/core/failover",
  "drivers/net/net_failover",
  "drivers/net/virtio_net",
  "fs/efivarfs/efivarfs",
  "fs/fat/fat",
  "fs/fat/vfat",
  "fs/nls/nls_cp437",
  "fs/nls/nls_ascii",
];

/** Commands of busybox that the image has by name. */
const COMMANDS = [
  ...[
    "awk",
    "base64",
    "chmod",
    "cp",
    "cut",
    "date",
    "dd",
    "df",
    "echo",
    "env",
    "false",
    "find",
  ],
  ...["grep", "head", "hexdump", "insmod", "install", "ip", "kill", "ln", "ls", "mkdir", "mount"],
  ...["mv", "pgrep", "ps", "sed", "sh", "sha256sum", "sleep", "sort", "stat", "stty", "sync"],
  ...["tail", "touch", "tr", "true", "truncate", "umount", "uname", "wc", "wget"],
];

/** Where {@link makeImageRoot} puts the modules, with the order in which they are loaded. */
export const MODULE_FOLDER = "/usr/lib/modules";

/**
 * Lays out the root of a node image in `root`, an empty folder: systemd, the journal, `bootctl`, busybox
 * and the kernel's modules, 20 MB of what Debian has. No udev, no D-Bus, no login: a boot costs as little as it
 * can where the processor is emulated.
 */
export async function makeImageRoot(parts: VmParts, root: string): Promise<void> {
  const usr = join(root, "usr");
  for (
    const folder of ["bin", "lib/systemd/system", "lib/x86_64-linux-gnu", "lib64", "local/bin"]
  ) {
    await Deno.mkdir(join(usr, folder), { recursive: true });
  }
  for (const link of ["bin", "lib", "lib64"]) await Deno.symlink(`usr/${link}`, join(root, link));
  await Deno.symlink("usr/bin", join(root, "sbin"));
  await Deno.symlink("bin", join(usr, "sbin"));
  for (
    const folder of ["boot", "dev", "etc", "proc", "root", "run", "state", "sys", "tmp", "var"]
  ) {
    await Deno.mkdir(join(root, folder));
  }
  for (const program of PROGRAMS) {
    const place = program.replace(/^(usr\/)?/, "");
    await Deno.copyFile(join(parts.root, program), join(usr, place));
  }
  for (const command of COMMANDS) await Deno.symlink("busybox", join(usr, "bin", command));
  await Deno.mkdir(join(usr, "lib/systemd/boot/efi"), { recursive: true });
  // For `bootctl install`.
  await Deno.copyFile(parts.loader, join(usr, "lib/systemd/boot/efi", basename(parts.loader)));
  await copyLibraries(parts, usr);
  await copyUnits(parts, usr);
  await copyModules(parts, join(root, MODULE_FOLDER));
  await writeSettings(root);
}

async function copyLibraries(parts: VmParts, usr: string): Promise<void> {
  const places = new Map<string, string>();
  for (const folder of LIBRARY_FOLDERS) {
    const entries = await Array.fromAsync(Deno.readDir(join(parts.root, folder))).catch(() => []);
    for (const { name } of entries) places.set(name, join(parts.root, folder, name));
  }
  const wanted = [...AGENT_LIBRARIES];
  for (const program of PROGRAMS) wanted.push(...await neededBy(join(parts.root, program)));
  const copied = new Set<string>();
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (copied.has(name)) continue;
    copied.add(name);
    const place = places.get(name);
    if (place === undefined) throw new Error(`no library ${name} in ${parts.root}`);
    // The file itself under the name that programs look for: no links are needed then.
    const target = name.startsWith("ld-") ? "lib64" : "lib/x86_64-linux-gnu";
    await Deno.copyFile(place, join(usr, target, name));
    wanted.push(...await neededBy(place));
  }
}

/** The libraries that a program or library is linked with. */
async function neededBy(file: string): Promise<string[]> {
  const headers = await mustRun("objdump", ["--private-headers", file]);
  return [...headers.matchAll(/^\s*NEEDED\s+(\S+)$/gm)].flatMap(([, name]) => name ?? []);
}

async function copyUnits(parts: VmParts, usr: string): Promise<void> {
  const from = join(parts.root, "lib/systemd/system");
  const to = join(usr, "lib/systemd/system");
  for (const unit of UNITS) await Deno.copyFile(join(from, unit), join(to, unit));
  await Deno.symlink("multi-user.target", join(to, "default.target"));
  await Deno.mkdir(join(to, "sysinit.target.wants"));
  await Deno.symlink(
    "../systemd-journald.service",
    join(to, "sysinit.target.wants/systemd-journald.service"),
  );
  await Deno.mkdir(join(to, "sockets.target.wants"));
  for (const socket of ["systemd-journald.socket", "systemd-journald-dev-log.socket"]) {
    await Deno.symlink(`../${socket}`, join(to, "sockets.target.wants", socket));
  }
}

async function copyModules(parts: VmParts, folder: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  const order: string[] = [];
  for (const module of MODULES) {
    const name = `${basename(module)}.ko`;
    await Deno.copyFile(join(parts.kernel.modules, dirname(module), name), join(folder, name));
    order.push(name);
  }
  await Deno.writeTextFile(join(folder, "order"), `${order.join("\n")}\n`);
}

async function writeSettings(root: string): Promise<void> {
  const files = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
    "etc/group": "root:x:0:\ntty:x:5:\nsystemd-journal:x:101:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/hostname": "node\n",
    "etc/machine-id": "1ab0ab1ab0ab1ab0ab1ab0ab1ab0ab1a\n",
    "etc/systemd/journald.conf":
      "[Journal]\nStorage=volatile\nForwardToConsole=yes\nTTYPath=/dev/console\nRateLimitIntervalSec=0\n",
    "etc/systemd/system.conf":
      "[Manager]\nDefaultTimeoutStopSec=10s\nLogTarget=console\nShowStatus=no\nDefaultStandardOutput=journal\n",
  };
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(join(root, dirname(path)), { recursive: true });
    await Deno.writeTextFile(join(root, path), text);
  }
}
