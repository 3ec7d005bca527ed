// needs: root systemd-nspawn mmdebstrap ip k3s
import assert from "node:assert/strict";
import { makeBaseRoot } from "../lab/base_root.ts";
import type { Container } from "../lab/container.ts";
import { startContainer } from "../lab/container.ts";
import { createNode, installK3sUnit, k3sBind, kubectl, waitForApi } from "../lab/k3s_unit.ts";

/** The machine that all tests of this suite share, in their order. */
const lab: { container?: Container } = {};
const shared = { sanitizeOps: false, sanitizeResources: false };

function machine(): Container {
  assert.ok(lab.container, "the container did not start");
  return lab.container;
}

Deno.test.beforeAll(async () => {
  lab.container = await startContainer({
    baseRoot: await makeBaseRoot(),
    bind: [await k3sBind()],
  });
});

Deno.test.afterAll(async () => await lab.container?.stop());

Deno.test("container exec: gives code, stdout and stderr, and takes stdin", shared, async () => {
  const script = "cat; echo problem >&2; exit 3";
  const output = await machine().exec(["sh", "-c", script], { stdin: "fed" });
  assert.deepEqual(output, { code: 3, stdout: "fed", stderr: "problem\n" });
});

Deno.test("container exec: kills what takes too long, inside as well", shared, async () => {
  const sleeping = machine().exec(["sleep", "4711"], { timeoutMs: 200 });
  await assert.rejects(sleeping, /sleep 4711 was killed/);
  const left = await machine().exec(["grep", "-slx", "sleep", "-r", "/proc", "--include=comm"]);
  assert.equal(left.stdout, "");
});

Deno.test("container: process 1 is a systemd that is running", shared, async () => {
  assert.equal((await machine().run(["cat", "/proc/1/comm"])).trim(), "systemd");
  assert.equal((await machine().run(["systemctl", "is-system-running"])).trim(), "running");
});

Deno.test("container reboot: a new boot on the same disk", shared, async () => {
  const before = await machine().bootId();
  await machine().writeFile("/var/lib/kept/file", "kept", 0o600);
  await machine().writeFile("/run/lost", "lost");
  await machine().reboot();
  assert.notEqual(await machine().bootId(), before);
  assert.equal(await machine().readFile("/var/lib/kept/file"), "kept");
  await assert.rejects(machine().readFile("/run/lost"), Deno.errors.NotFound);
});

Deno.test("container reboot: one that the guest asks for itself is noticed", shared, async () => {
  const before = await machine().bootId();
  await machine().run(["systemd-run", "-q", "systemctl", "reboot"]);
  await machine().waitRebooted(before);
  assert.notEqual(await machine().bootId(), before);
});

Deno.test("container powerCut: every process dies at once, the disk stays", shared, async () => {
  const before = await machine().bootId();
  await machine().writeFile("/var/lib/kept/other", "kept");
  const script = "trap 'echo orderly >/var/lib/kept/trap' TERM; while :; do sleep 0.1; done";
  await machine().run(["systemd-run", "-q", "sh", "-c", script]);
  await machine().powerCut();
  assert.notEqual(await machine().bootId(), before);
  assert.equal(await machine().readFile("/var/lib/kept/other"), "kept");
  await assert.rejects(machine().readFile("/var/lib/kept/trap"), Deno.errors.NotFound);
});

Deno.test("runInNetwork: a server of the host answers inside at 127.0.0.1", shared, async () => {
  const script = `const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log("port " + port) },
    () => new Response("from the host"),
  ); await server.finished;`;
  const server = machine().runInNetwork(Deno.execPath(), ["eval", script]);
  const line = await server.waitForLine((text) => text.startsWith("port "));
  const port = line.slice("port ".length);
  const ask =
    `exec 3<>/dev/tcp/127.0.0.1/${port}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3`;
  assert.match(await machine().run(["bash", "-c", ask]), /^HTTP\/1\.[01] 200 [^]*from the host$/);
  await assert.rejects(Deno.connect({ hostname: "127.0.0.1", port: Number(port) }));
  await server.stop();
  assert.notEqual((await machine().exec(["bash", "-c", ask])).code, 0);
});

Deno.test(
  "cutNetwork: everything but loopback is unreachable, and comes back",
  shared,
  async () => {
    const routes = async () => await machine().run(["cat", "/proc/net/route"]);
    assert.match(await routes(), /^eth0\t00000000/m);
    await machine().cutNetwork();
    assert.doesNotMatch(await routes(), /^eth0/m);
    await machine().restoreNetwork();
    assert.match(await routes(), /^eth0\t00000000/m);
  },
);

Deno.test(
  "k3s unit: systemctl starts it, /readyz answers, objects can be made",
  shared,
  async () => {
    await installK3sUnit(machine());
    const idle = await machine().exec(["systemctl", "is-enabled", "k3s.service"]);
    assert.equal(idle.stdout.trim(), "disabled");
    // Packaged add-ons would only take time here; the agent's own tests read what it writes.
    const disabled = "coredns,servicelb,traefik,local-storage,metrics-server".split(",");
    const config = { "cluster-init": true, "disable": disabled };
    await machine().writeFile("/etc/rancher/k3s/config.yaml", JSON.stringify(config), 0o600);
    await machine().run(["systemctl", "start", "k3s.service"], { timeoutMs: 120_000 });
    await waitForApi(machine());
    await createNode(machine(), "lab");
    assert.equal(await kubectl(machine(), ["get", "nodes", "-o", "name"]), "node/lab\n");
  },
);
