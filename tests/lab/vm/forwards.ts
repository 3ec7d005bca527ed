import type { StateFile } from "./state_partition.ts";

/** The host's loopback, as QEMU's network shows it. */
const HOST = "10.0.2.2";

/**
 * Units that make ports of the machine's 127.0.0.1 those of the host's: both sides then mean the same by a
 * URL on loopback.
 */
export function forwards(ports: readonly number[]): StateFile[] {
  return ports.flatMap((port) => [
    {
      path: `etc/systemd/system/forward-${port}.socket`,
      text: `[Socket]\nListenStream=127.0.0.1:${port}\n`,
    },
    {
      path: `etc/systemd/system/forward-${port}.service`,
      text: `[Service]\nExecStart=/usr/lib/systemd/systemd-socket-proxyd ${HOST}:${port}\n`,
    },
    {
      path: `etc/systemd/system/sockets.target.wants/forward-${port}.socket`,
      link: `../forward-${port}.socket`,
    },
  ]);
}
