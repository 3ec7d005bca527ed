import { MODULE_FOLDER } from "./image_root.ts";

/** What a bad image does wrong before its systemd runs. */
export type EarlyFault = "hang" | "panic";

/** Partitions of the machine's disk. */
export const ESP_DEVICE = "/dev/vda1";
export const STATE_DEVICE = "/dev/vda2";

/** Folders of the state partition, and where the image has them. */
const STATE_FOLDERS: readonly (readonly [string, string])[] = [
  ["var", "/var"],
  ["etc/pbx-agent", "/etc/pbx-agent"],
  ["etc/rancher", "/etc/rancher"],
  ["etc/systemd/system", "/etc/systemd/system"],
];

/** Folders that have to be on the state partition, from its root. */
export const STATE_LAYOUT: readonly string[] = STATE_FOLDERS.map(([folder]) => folder);

/**
 * The image's first process: loads modules, mounts the ESP at /boot and what outlives the image from the
 * state partition, sets the network up and becomes systemd. The root itself is in memory. Where the disk
 * is not there it ends, and the kernel panics: better than a machine that waits for ever.
 */
export function initScript(fault?: EarlyFault): string {
  const binds = STATE_FOLDERS.map(([from, to]) =>
    `mkdir -p /state/${from} ${to}\nmount -o bind /state/${from} ${to}`
  );
  return `#!/usr/bin/busybox sh
export PATH=/usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs -o mode=0755 tmpfs /run
exec </dev/console >/dev/console 2>&1
echo "image: $(. /usr/lib/os-release; echo "$IMAGE_VERSION") starts after $(cut -d' ' -f1 /proc/uptime) s"
${fault === undefined ? "" : FAULTS[fault]}
for module in $(cat ${MODULE_FOLDER}/order); do insmod ${MODULE_FOLDER}/$module; done
mount -t efivarfs efivarfs /sys/firmware/efi/efivars
mount -t ext4 -o noatime ${STATE_DEVICE} /state || exit 1
mount -t vfat -o umask=0077,iocharset=ascii ${ESP_DEVICE} /boot || exit 1
${binds.join("\n")}
mkdir -p /var/tmp /var/lib
chmod 1777 /tmp /var/tmp
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
exec /usr/lib/systemd/systemd
`;
}

/** Modules of the watchdog that an image needs to be able to hang, below a kernel's modules. */
export const WATCHDOG_MODULES: readonly string[] = [
  "drivers/watchdog/watchdog",
  "drivers/watchdog/i6300esb",
];

/** The watchdog resets the machine when it was not told for so long that all is well, seconds. */
const WATCHDOG_S = 10;

const FAULTS: Readonly<Record<EarlyFault, string>> = {
  // The watchdog is opened and never told anything.
  hang: `insmod ${MODULE_FOLDER}/watchdog.ko
insmod ${MODULE_FOLDER}/i6300esb.ko heartbeat=${WATCHDOG_S}
echo "image: hangs"
exec 3>/dev/watchdog
while :; do sleep 60; done`,
  // The kernel panics when its first process ends. It writes to the console at once, into the middle of a
  // line that a slow machine has not printed yet.
  panic: 'echo "image: ends"\nsleep 2\nexit 1',
};
