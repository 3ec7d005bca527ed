import { PROGRAM_FILE } from "../../../core/state/paths.ts";

/**
 * All that the agent, and the programs that it runs, may write to beside its own /tmp. What is not there
 * when the agent starts is passed over, and is then read-only: k3s's two folders are made first.
 */
export const WRITABLE: readonly string[] = [
  "/etc/pbx-agent",
  "/etc/rancher",
  "/etc/systemd/system",
  "/var/lib/pbx-agent",
  "/var/lib/rancher",
  "/var/lib/prometheus/node-exporter",
  "/var/lib/node_exporter",
  "/run",
  "/boot",
  "/efi",
  "/sys/firmware/efi/efivars",
];

/**
 * What is left of root's powers: files of other owners, and the flag that the kernel sets on the
 * firmware's variables. The last is k3s's, whose reset listens where k3s is told to.
 */
const CAPABILITIES = [
  "CAP_CHOWN",
  "CAP_DAC_OVERRIDE",
  "CAP_DAC_READ_SEARCH",
  "CAP_FOWNER",
  "CAP_LINUX_IMMUTABLE",
  "CAP_NET_BIND_SERVICE",
];

/**
 * The agent's unit (operations.md, Files). docs/unit.md has what each line is
 * for, and why others are off.
 *
 * It is started for ever, however often it ended (a program that crashes in a loop must not be what systemd
 * gives up on), and is gone ten seconds after it was told to stop: a rollback waits for that. By the
 * variable the runtime trusts the authorities of the system beside those that it brings itself.
 */
export const UNIT = `[Unit]
Description=PaaSbox node agent
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStartPre=+/usr/bin/mkdir -p -m 0755 /etc/rancher /var/lib/rancher
ExecStartPre=-+/usr/bin/cp /proc/sys/kernel/random/boot_id /run/pbx-agent-unit/boot_id
ExecStart=${PROGRAM_FILE} run
Environment=DENO_TLS_CA_STORE=system,mozilla
Restart=always
RestartSec=5
TimeoutStopSec=10

# The sandbox: docs/unit.md
UMask=0077
LimitCORE=0
TasksMax=1024
NoNewPrivileges=yes
CapabilityBoundingSet=${CAPABILITIES.join(" ")}
ProtectSystem=strict
ReadWritePaths=${WRITABLE.map((path) => `-${path}`).join(" ")}
ProtectHome=yes
PrivateTmp=yes
# Not PrivateDevices: bootctl asks the block device whether it is an ESP.
DevicePolicy=closed
DeviceAllow=block-* r
ProtectKernelTunables=yes
# It comes with another /proc, which in a container has the boot ID of the host.
RuntimeDirectory=pbx-agent-unit
BindReadOnlyPaths=-/run/pbx-agent-unit/boot_id:/proc/sys/kernel/random/boot_id
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
