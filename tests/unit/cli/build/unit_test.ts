import assert from "node:assert/strict";
import { PERMISSIONS } from "../../../../cli/build/permissions.ts";
import { UNIT, WRITABLE } from "../../../../cli/build/templates/unit.ts";

/** Each line of the unit. One that is changed, added or taken away is changed here too, and in docs/unit.md. */
const LINES = `[Unit]
Description=PaaSbox node agent
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0
[Service]
Type=exec
ExecStartPre=+/usr/bin/mkdir -p -m 0755 /etc/rancher /var/lib/rancher
ExecStartPre=-+/usr/bin/cp /proc/sys/kernel/random/boot_id /run/pbx-agent-unit/boot_id
ExecStart=/var/lib/pbx-agent/bin/pbx-agent run
Environment=DENO_TLS_CA_STORE=system,mozilla
Restart=always
RestartSec=5
TimeoutStopSec=10
UMask=0077
LimitCORE=0
TasksMax=1024
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_LINUX_IMMUTABLE CAP_NET_BIND_SERVICE
ProtectSystem=strict
ReadWritePaths=-/etc/pbx-agent -/etc/rancher -/etc/systemd/system -/var/lib/pbx-agent -/var/lib/rancher -/var/lib/prometheus/node-exporter -/var/lib/node_exporter -/run -/boot -/efi -/sys/firmware/efi/efivars
ProtectHome=yes
PrivateTmp=yes
DevicePolicy=closed
DeviceAllow=block-* r
ProtectKernelTunables=yes
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
WantedBy=multi-user.target`.split("\n");

/** What could be on, and is off for a reason. */
const OFF = [
  "IPAddressDeny",
  "MemoryDenyWriteExecute",
  "MemoryMax",
  "PrivateDevices",
  "PrivateNetwork",
  "PrivateUsers",
  "ProcSubset",
  "ProtectProc",
  "RestrictFileSystems",
  "RootDirectory",
  "User",
];

const lines = UNIT.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
const page = Deno.readTextFileSync(new URL("../../../../docs/unit.md", import.meta.url));

/** The settings of the rows below a heading of the page. */
function rowsOf(heading: string): readonly string[] {
  const [, after = ""] = page.split(`## ${heading}\n`);
  const [section = ""] = after.split("\n## ");
  return section.split("\n").flatMap((row) => {
    const [, cell = ""] = /^\| (`[^|]*) \|/.exec(row) ?? [];
    return [...cell.matchAll(/`(\w+)=/g)].map(([, name = ""]) => name);
  });
}

Deno.test("unit: every line is what it is meant to be", () => assert.deepEqual(lines, LINES));

Deno.test("unit: everything that the program may write to is writable in its sandbox", () => {
  for (const { may, what } of PERMISSIONS) {
    if (may !== "own") continue;
    assert.ok(WRITABLE.some((path) => what === path || what.startsWith(`${path}/`)), what);
  }
});

Deno.test("docs/unit.md: each line of the sandbox has its reason, and no other", () => {
  const from = lines.findIndex((line) => line.startsWith("UMask="));
  const names = lines.slice(from, lines.indexOf("[Install]")).map((line) => line.split("=")[0]);
  assert.deepEqual([...rowsOf("What is on")].sort(), names.sort());
});

Deno.test("docs/unit.md: what is off has its reason, and is off", () => {
  assert.deepEqual([...rowsOf("What is off")].sort(), OFF);
  for (const name of OFF) assert.ok(!lines.some((line) => line.startsWith(`${name}=`)), name);
});
