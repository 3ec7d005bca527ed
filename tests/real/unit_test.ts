// needs: root systemd-nspawn mmdebstrap ip
/** What systemd makes of the shipped unit, and what a program in it can and cannot do. Half a minute. */
import assert from "node:assert/strict";
import { UNIT, WRITABLE } from "../../cli/build/templates/unit.ts";
import { AGENT_UNIT, AGENT_UNIT_FILE, PROGRAM_FILE } from "../../core/state/paths.ts";
import { makeBaseRoot } from "../lab/base_root.ts";
import { type Container, startContainer } from "../lab/container.ts";
import { waitUntil } from "../lab/wait_until.ts";

/** The most that `systemd-analyze security` may give (unit.md). */
const LIMIT = 4.0;

/** What systemd has to say of the settings in docs/unit.md. */
const SETTINGS = {
  UMask: "0077",
  LimitCORE: "0",
  LimitCORESoft: "0",
  NoNewPrivileges: "yes",
  ProtectSystem: "strict",
  ReadWritePaths: WRITABLE.map((path) => `-${path}`).join(" "),
  ProtectHome: "yes",
  PrivateTmp: "yes",
  ProtectKernelTunables: "yes",
  ProtectKernelModules: "yes",
  ProtectKernelLogs: "yes",
  ProtectControlGroups: "yes",
  ProtectClock: "yes",
  ProtectHostname: "yes",
  DevicePolicy: "closed",
  RestrictNamespaces: "yes",
  RestrictRealtime: "yes",
  RestrictSUIDSGID: "yes",
  RestrictAddressFamilies: "AF_INET AF_INET6 AF_NETLINK AF_UNIX",
  LockPersonality: "yes",
  SystemCallArchitectures: "native",
  TasksMax: "1024",
  CapabilityBoundingSet: "cap_chown cap_dac_override cap_dac_read_search cap_fowner " +
    "cap_linux_immutable cap_net_bind_service",
};

/** What root of the machine can do, and the agent's sandbox refuses: each ends with 0 where it worked. */
const REFUSED = {
  "write to /etc": "touch /etc/probe",
  "write to /usr/local/bin": "touch /usr/local/bin/probe",
  "write to /var/lib": "touch /var/lib/probe",
  "look into a home folder": "ls /root/home",
  "mount": "mkdir -p /run/probe && mount -t tmpfs probe /run/probe && umount /run/probe",
  "make a namespace": "unshare --mount true",
  "make a program that runs as another": "touch /run/suid && chmod u+s /run/suid",
  "change a control group":
    "mkdir /sys/fs/cgroup/system.slice/probe && rmdir /sys/fs/cgroup/system.slice/probe",
  "end a process of another user": "kill -0 $(cat /run/other.pid)",
} as const;

/** What the agent does: each has to work. */
const WORKS = {
  "have systemd read its units": "systemctl daemon-reload",
  "have systemd start a unit, outside of the sandbox": "systemctl start outside.service",
  "see other programs": "systemd-cgls --full --no-pager | grep -q 'sleep 47111'",
  "read the journal": "journalctl --unit=outside.service --lines=1 | grep -q .",
  ...Object.fromEntries(
    ["/etc/pbx-agent", "/etc/rancher/k3s", "/etc/systemd/system/k3s.service.d"].map((path) =>
      [`write to ${path}`, `mkdir -p ${path} && touch ${path}/probe`] as const
    ),
  ),
  ...Object.fromEntries(
    ["/var/lib/pbx-agent", "/var/lib/rancher/k3s", "/run/pbx-agent", "/boot/EFI/Linux"].map((
      path,
    ) => [`write to ${path}`, `mkdir -p ${path} && touch ${path}/probe`] as const),
  ),
} as const;

const shared = { sanitizeOps: false, sanitizeResources: false };
const lab: { container?: Container } = {};

function machine(): Container {
  assert.ok(lab.container, "the container did not start");
  return lab.container;
}

Deno.test.beforeAll(async () => {
  lab.container = await startContainer({
    baseRoot: await makeBaseRoot(),
    prepare: async (root) => {
      await Deno.writeTextFile(`${root}${AGENT_UNIT_FILE}`, UNIT);
      await Deno.mkdir(`${root}${PROGRAM_FILE.replace(/\/[^/]*$/, "")}`, { recursive: true });
      await Deno.writeTextFile(`${root}${PROGRAM_FILE}`, probe(), { mode: 0o755 });
      await Deno.mkdir(`${root}/etc/pbx-agent`);
      await Deno.mkdir(`${root}/root/home`);
      const outside = "[Service]\nType=oneshot\nExecStart=touch /etc/outside\n";
      await Deno.writeTextFile(`${root}/etc/systemd/system/outside.service`, outside);
    },
  });
});

Deno.test.afterAll(async () => await lab.container?.stop());

/** Stands for the agent: tries everything, notes what worked, and goes on running. */
function probe(): string {
  const tries = Object.entries({ ...REFUSED, ...WORKS }).map(([name, command]) =>
    `if (${command}) > /run/said 2>&1; then echo "did: ${name}"; else echo "could not: ${name}"; fi`
  );
  return `#!/bin/sh
{
${tries.join("\n")}
echo "boot ID: $(cat /proc/sys/kernel/random/boot_id)"
echo "umask: $(umask)"
echo "core: $(ulimit -c)"
grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status
} > /run/probe.part 2>&1
mv /run/probe.part /run/probe.out
exec sleep infinity
`;
}

/** What the probe said, one fact a line. */
async function probed(run: () => Promise<unknown>): Promise<readonly string[]> {
  await machine().run(["rm", "-f", "/run/probe.out"]);
  await run();
  const said = await waitUntil(
    "the end of the probe",
    async () =>
      await machine().exists("/run/probe.out") ? machine().readFile("/run/probe.out") : undefined,
    { timeoutMs: 60_000 },
  );
  return said.trimEnd().split("\n");
}

Deno.test("unit: systemd finds no fault in it", shared, async () => {
  const { code, stdout, stderr } = await machine().exec([
    "systemd-analyze",
    "verify",
    AGENT_UNIT_FILE,
  ]);
  assert.deepEqual({ code, said: stdout + stderr }, { code: 0, said: "" });
});

Deno.test("unit: systemd-analyze security gives it at most 4.0", shared, async () => {
  const args = ["security", "--offline=no", "--no-pager", AGENT_UNIT];
  const said = await machine().run(["systemd-analyze", ...args]);
  const level = /Overall exposure level for pbx-agent\.service: ([0-9.]+)/.exec(said)?.[1];
  assert.ok(Number(level) <= LIMIT, said);
});

Deno.test("unit: every line of the sandbox is in effect", shared, async () => {
  const names = Object.keys(SETTINGS);
  const args = ["show", `--property=${names.join(",")}`, AGENT_UNIT];
  const shown = Object.fromEntries(
    (await machine().run(["systemctl", ...args])).trimEnd().split("\n").map((line) => {
      const at = line.indexOf("=");
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
  assert.deepEqual(shown, SETTINGS);
  const filter = await machine().run(["systemctl", "show", "-p", "SystemCallFilter", AGENT_UNIT]);
  const calls = filter.trim().replace(/^SystemCallFilter=/, "").split(" ");
  for (const call of ["mount", "reboot", "init_module", "ptrace", "bpf", "settimeofday"]) {
    assert.ok(!calls.includes(call), call);
  }
});

Deno.test("unit: what it refuses is refused, what the agent does works", shared, async () => {
  const others = ["--uid=nobody", "--unit=other", "sleep", "47111"];
  await machine().run(["systemd-run", ...others]);
  const pid = ["systemctl", "show", "--property=MainPID", "--value", "other.service"];
  await machine().writeFile("/run/other.pid", await machine().run(pid));
  const free = await probed(() => machine().run(["systemd-run", "--unit=free", PROGRAM_FILE]));
  for (const name of [...Object.keys(REFUSED), ...Object.keys(WORKS)]) {
    assert.ok(free.includes(`did: ${name}`), `root cannot ${name}: the probe shows nothing`);
  }
  const clean = ["/etc/probe", "/usr/local/bin/probe", "/var/lib/probe", "/etc/outside"];
  await machine().run(["rm", "-rf", ...clean, "/run/suid", "/etc/rancher", "/var/lib/rancher"]);

  const inside = await probed(() => machine().run(["systemctl", "start", AGENT_UNIT]));
  assert.deepEqual(inside, [
    ...Object.keys(REFUSED).map((name) => `could not: ${name}`),
    ...Object.keys(WORKS).map((name) => `did: ${name}`),
    `boot ID: ${await machine().bootId()}`,
    "umask: 0077",
    "core: 0",
    "NoNewPrivs:\t1",
    "Seccomp:\t2",
  ]);
  assert.ok(await machine().exists("/etc/outside"), "a unit is outside of the sandbox");
  const made = ["stat", "-c", "%a", "/etc/rancher", "/var/lib/rancher"];
  assert.equal(await machine().run(made), "755\n755\n");
});

Deno.test(
  "unit: a file system that is mounted later is seen in it, and writable",
  shared,
  async () => {
    const pid = ["systemctl", "show", "--property=MainPID", "--value", AGENT_UNIT];
    const inside = ["nsenter", "--mount", "--target", (await machine().run(pid)).trim()];
    for (const path of ["/boot", "/etc/systemd/system", "/var/lib/rancher"]) {
      await machine().run(["mount", "-t", "tmpfs", "later", path]);
      await machine().run([...inside, "touch", `${path}/later`]);
      assert.ok(await machine().exists(`${path}/later`), path);
      await machine().run(["umount", path]);
      assert.equal(
        (await machine().exec([...inside, "test", "-e", `${path}/later`])).code,
        1,
        path,
      );
    }
  },
);
