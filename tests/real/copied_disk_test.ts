// needs: root systemd-nspawn mmdebstrap ip k3s versitygw
// waits
/**
 * A disk that was copied to another server: the machine boots with it under a real systemd and k3s, and the
 * metadata service names another server than the one that the agent enrolled with. About 5 minutes.
 */
import assert from "node:assert/strict";
import { waitForApi } from "../lab/k3s_unit.ts";
import { waitUntil } from "../lab/wait_until.ts";
import { type Node, viewPortal } from "./first_start/node.ts";
import { startNode } from "./operations/node.ts";

const CONFIG = "/etc/pbx-agent/config.yaml";
const STATE = "/var/lib/pbx-agent";
/** What the agent looks after; the lock's file holds the number of its process. */
const FILES =
  `find ${STATE} /etc/pbx-agent /etc/rancher -type f ! -name lock -printf '%p %m %s %T@\\n' | sort`;
/** No server that the portal knows. */
const OTHER = "99887766";
/** From the first answer that differs to the second, and some more. */
const DECIDED_MS = 90_000;

const shared = { sanitizeOps: false, sanitizeResources: false };
const lab: { node?: Node; config?: string } = {};

function node(): Node {
  assert.ok(lab.node, "the node could not be started");
  return lab.node;
}

async function files(): Promise<string> {
  return await node().container.run(["sh", "-c", FILES]);
}

/** Everything that was signed so far. */
async function requests(): Promise<number> {
  return (await viewPortal(node())).requests.length;
}

async function k3sState(): Promise<string> {
  const { stdout } = await node().container.exec(["systemctl", "is-active", "k3s.service"]);
  return stdout.trim();
}

// deno-lint-ignore no-explicit-any -- what the program prints
async function status(): Promise<any> {
  return JSON.parse(await node().container.run([`${STATE}/bin/pbx-agent`, "status"]));
}

/** The number of requests, once it has gone up. */
async function requestAfter(before: number): Promise<void> {
  await waitUntil("another request", async () => await requests() > before || undefined, {
    timeoutMs: 60_000,
    everyMs: 500,
  });
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

Deno.test.beforeAll(async () => {
  lab.node = await startNode();
});

Deno.test.afterAll(async () => await lab.node?.stop());

Deno.test(
  "copied disk: on another server nothing is signed, written or started",
  shared,
  async () => {
    const { container, portal } = node();
    await container.run(["systemctl", "stop", "pbx-agent.service"]);
    // So that only the agent would start it after the boot.
    await container.run(["systemctl", "disable", "k3s.service"]);
    const config = lab.config = await container.readFile(CONFIG);
    const there = /^metadata_url: (\S+)$/m.exec(config)?.[1]?.replace(/\/$/, "");
    assert.ok(there, config);
    const url = `${there}/metadata/server/${OTHER}/hetzner/v1/metadata`;
    await container.writeFile(
      CONFIG,
      config.replace(/^metadata_url: .*$/m, `metadata_url: ${url}`),
      0o600,
    );
    const before = { files: await files(), requests: await requests() };
    await container.reboot();
    await waitUntil("the agent's verdict", async () => {
      const journal = await node().agent.journal();
      return /"event":"other_server"/.test(journal) || undefined;
    }, { timeoutMs: DECIDED_MS, everyMs: 1_000 });
    await wait(30_000);
    assert.deepEqual({ files: await files(), requests: await requests() }, before);
    assert.equal(await k3sState(), "inactive");
    const said = await status();
    assert.equal(said.stage, "other_server");
    assert.equal(said.running, true);
    assert.equal(said.runs_on, OTHER);
    assert.match(said.other_server, /uninstall --yes/);
    const { breaches } = await portal.admin<{ breaches: unknown[] }>("GET", "/admin/state");
    assert.deepEqual(breaches, []);
  },
);

Deno.test("copied disk: a k3s that runs there is left alone", shared, async () => {
  const { container } = node();
  await container.run(["systemctl", "start", "k3s.service"], { timeoutMs: 120_000 });
  const before = await requests();
  await container.run(["systemctl", "restart", "pbx-agent.service"]);
  await wait(DECIDED_MS);
  assert.equal(await k3sState(), "active");
  assert.equal(await requests(), before);
  await container.run(["systemctl", "stop", "k3s.service"], { timeoutMs: 120_000 });
});

Deno.test("copied disk: back in its own server it goes on", shared, async () => {
  const { container } = node();
  await container.run(["systemctl", "stop", "pbx-agent.service"]);
  await container.writeFile(CONFIG, lab.config ?? "", 0o600);
  const before = await requests();
  await container.reboot();
  await requestAfter(before);
  // A boot that the agent has not seen yet: it starts the k3s that nothing else did.
  await waitForApi(container);
  const said = await status();
  assert.equal(said.stage, "syncing");
  assert.equal(said.runs_on, said.server_id);
  assert.equal(said.other_server, null);
});
