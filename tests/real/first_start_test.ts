// needs: root systemd-nspawn mmdebstrap ip k3s versitygw
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { LogReader } from "../lab/agent_unit.ts";
import { kubectl } from "../lab/k3s_unit.ts";
import { waitUntil } from "../lab/wait_until.ts";
import type { Kept, Node, PortalView, SyncReport } from "./first_start/node.ts";
import { COMMENT, layOutNode, readKept, viewPortal } from "./first_start/node.ts";
import { SECRETS } from "./first_start/setting.ts";

const WITNESS = fileURLToPath(new URL("first_start/witness_main.ts", import.meta.url));

/** What the tests of this suite hand on to one another: they are one story, in their order. */
const story: { node?: Node; log?: LogReader; keys?: unknown; agentId?: string; broken?: string } =
  {};

/** One step of the story. After one that failed, the rest says so at once instead of waiting. */
function chapter(name: string, tell: () => Promise<void>): void {
  check(name, async () => {
    story.broken = name;
    await tell();
    delete story.broken;
  });
}

/** A look at what the story so far has led to. */
function check(name: string, look: () => Promise<void>): void {
  const fn = async () => {
    if (story.broken !== undefined) throw new Error(`not reached: "${story.broken}" failed`);
    await look();
  };
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

function theNode(): Node {
  assert.ok(story.node, "the node could not be laid out");
  return story.node;
}

function theLog(): LogReader {
  assert.ok(story.log, "the agent was not started");
  return story.log;
}

/** Kills the agent and gives what is on the disk before systemd starts it again. */
async function killAgent(): Promise<Kept> {
  await theNode().agent.kill();
  return await readKept(theNode());
}

/** Whatever happened so far: the first keys, and one enrollment at most. */
async function assertSameAgent(kept: Kept): Promise<PortalView> {
  assert.deepEqual(kept.identity.keys, story.keys, "the keys were replaced");
  const view = await viewPortal(theNode());
  const ids = Object.keys(view.agents);
  assert.ok(ids.length <= 1, `enrolled more than once: ${ids.join(", ")}`);
  if (story.agentId !== undefined) assert.deepEqual(ids, [story.agentId]);
  return view;
}

Deno.test.beforeAll(async () => {
  story.node = await layOutNode();
});

Deno.test.afterAll(async () => await story.node?.stop());

chapter("killed with keys and no answer: keeps the keys it made", async () => {
  const { agent, portal } = theNode();
  await portal.admin("POST", "/admin/outage", { down: true });
  await agent.start();
  story.log = agent.follow();
  await waitUntil("identity.json", async () => await readKept(theNode()), { timeoutMs: 30_000 });
  const kept = await killAgent();
  story.keys = kept.identity.keys;
  assert.equal(kept.identity.binding, null);
  assert.deepEqual((await assertSameAgent(kept)).agents, {});
});

chapter("killed after an answer that was lost: has no ID, keeps its token", async () => {
  const { portal, container } = theNode();
  const fault = { match: { path: "/enroll" }, action: { cut: "after" } };
  await portal.admin("POST", "/admin/faults", fault);
  await portal.admin("POST", "/admin/outage", { down: false });
  story.agentId = await waitUntil("the portal to enroll", async () => {
    return Object.keys((await viewPortal(theNode())).agents)[0];
  }, { timeoutMs: 60_000 });
  const kept = await killAgent();
  await assertSameAgent(kept);
  assert.equal(kept.identity.binding, null);
  assert.ok((await container.readFile("/etc/pbx-agent/config.yaml")).includes(portal.token));
});

chapter("killed when enrolled: is the agent of the lost answer", async () => {
  await theLog().next("enrolled");
  const kept = await killAgent();
  await assertSameAgent(kept);
  assert.equal(kept.identity.binding?.agent_id, story.agentId);
});

chapter("killed when k3s was started, and rebooted: goes on", async () => {
  await theLog().next("k3s_started");
  const kept = await killAgent();
  await assertSameAgent(kept);
  assert.notEqual(kept.step, "done");
  await theNode().container.reboot();
});

chapter("killed when the API is up: goes on with the Secrets", async () => {
  await theLog().next("api_up", 120_000);
  const kept = await killAgent();
  await assertSameAgent(kept);
  assert.notEqual(kept.step, "done");
  await theLog().next("first_start_done", 60_000);
});

chapter("after all of it: converges, with nothing pending", async () => {
  const report = await waitForReport((latest) =>
    latest.node.api === "up" && latest.node.k3s.unit === "active" &&
    latest.conditions.length === 0 &&
    latest.desired.revision === 2 && !latest.pending.k3s_restart
  );
  assert.equal(report.node.boot_id, await theNode().container.bootId());
  const kept = await readKept(theNode());
  assert.equal(kept.step, "done");
  assert.equal(kept.kubeSystemUid, await kubeSystemUid());
  const view = await assertSameAgent(kept);
  assert.deepEqual(view.breaches, []);
});

check("the token: one enrollment used it, and it is gone", async () => {
  const { container, portal } = theNode();
  const view = await viewPortal(theNode());
  const enrolled = view.requests.filter(({ path, status }) =>
    path.endsWith("/enroll") && status === 200
  );
  // The answer that was lost, and the same one again.
  assert.ok(enrolled.length <= 2, `${enrolled.length} enrollments were answered`);
  const config = await container.readFile("/etc/pbx-agent/config.yaml");
  assert.ok(config.startsWith(COMMENT), config);
  assert.ok(!config.includes("enrollment_token"), config);
  const found = await container.exec(["grep", "-rlF", portal.token, "/etc", "/var", "/run"]);
  assert.equal(found.stdout, "", "the token is still in a file");
});

check("files: modes and owners as written down", async () => {
  const modes: Record<string, string> = {
    "/etc/pbx-agent/config.yaml": "600",
    "/var/lib/pbx-agent": "700",
    "/var/lib/pbx-agent/identity.json": "600",
    "/var/lib/pbx-agent/state.json": "600",
    "/var/lib/pbx-agent/bootstrap.json": "600",
    "/etc/rancher/k3s/config.yaml": "600",
    "/etc/rancher/k3s/registries.yaml": "600",
    "/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml": "600",
    "/etc/rancher/k3s/config.yaml.d/50-pbx-ingress.yaml": "600",
    "/var/lib/rancher/k3s/server/manifests/pbx-lab-first-start.yaml": "600",
  };
  const listed = await theNode().container.run(["stat", "-c", "%n %a %U", ...Object.keys(modes)]);
  const expected = Object.entries(modes).map(([path, mode]) => `${path} ${mode} root\n`).join("");
  assert.equal(listed, expected);
});

check("Secrets: in the API with the right content, says another client", async () => {
  const { container, s3 } = theNode();
  const kubeconfig = await Deno.makeTempFile();
  await Deno.writeTextFile(kubeconfig, await container.readFile("/etc/rancher/k3s/k3s.yaml"));
  const names = ["kube-system", "hcloud", "pbx-etcd-s3"];
  const args = ["run", "--allow-all", WITNESS, ...names];
  const witness = container.runInNetwork(Deno.execPath(), args, {
    env: { KUBECONFIG: kubeconfig },
  });
  assert.equal(await witness.exited, 0, witness.stderr.join("\n"));
  await Deno.remove(kubeconfig);
  assert.deepEqual(JSON.parse(witness.stdout.join("\n")), {
    "hcloud": { token: SECRETS.hcloud, network: "lab-network" },
    "pbx-etcd-s3": {
      "etcd-s3-endpoint": s3.endpoint.replace("https://", ""),
      "etcd-s3-endpoint-ca": s3.authority,
      "etcd-s3-bucket": s3.bucket,
      "etcd-s3-region": s3.region,
      "etcd-s3-folder": "lab",
      "etcd-s3-bucket-lookup-type": "path",
      "etcd-s3-access-key": s3.accessKey,
      "etcd-s3-secret-key": s3.secretKey,
    },
  });
  const labels = "-o=jsonpath={range .items[*]}{.metadata.name}={.metadata.labels} {end}";
  const managed = ["-n", "kube-system", "get", "secrets", "-l", "pbx.io/managed=true"];
  const label = '{"pbx.io/managed":"true"}';
  const expected = `hcloud=${label} pbx-etcd-s3=${label} `;
  assert.equal(await kubectl(container, [...managed, labels]), expected);
});

check("first-start manifests: k3s has deployed them", async () => {
  const marker = ["-n", "kube-system", "get", "configmap", "lab-first-start", "-o=name"];
  const found = await kubectl(theNode().container, marker);
  assert.equal(found.trim(), "configmap/lab-first-start");
});

check("drop-ins: k3s schedules snapshots by them and keeps one in the bucket", async () => {
  const { container, s3 } = theNode();
  const log = await container.run(["journalctl", "--unit=k3s.service", "--output=cat"]);
  const schedules = log.split("\n").filter((line) => line.includes('msg="schedule, now='));
  assert.match(schedules.at(-1) ?? "", /next=\S+T03:17:00Z/);
  await container.run(["k3s", "etcd-snapshot", "save", "--name", "witness"]);
  const [saved, ...others] = await s3.objects();
  assert.deepEqual(others, []);
  // `.zip` is etcd-snapshot-compress; folder, bucket and keys can only come from the Secret.
  assert.match(saved ?? "", /^lab\/witness-.*\.zip$/);
});

check("registries: the file is there before k3s first starts, which runs with it", async () => {
  const { container } = theNode();
  const file = await container.readFile("/etc/rancher/k3s/registries.yaml");
  assert.match(file, /^# Managed by pbx-agent/);
  assert.ok(file.includes(`      password: "${SECRETS.registry}"\n`), file);
  const { k3s_drop_ins: read } = JSON.parse(
    await container.readFile("/var/lib/pbx-agent/state.json"),
  );
  assert.ok(Object.hasOwn(read, "/etc/rancher/k3s/registries.yaml"), JSON.stringify(read));
});

check("k3s: no other token than the portal's, and the packaged add-ons off", async () => {
  const { container } = theNode();
  const token = await container.readFile("/var/lib/rancher/k3s/server/token");
  assert.ok(token.trim().endsWith(`:${SECRETS.k3s}`), "k3s made a token of its own");
  const charts = await kubectl(container, ["-n", "kube-system", "get", "helmcharts", "-o=name"]);
  assert.equal(charts, "", "traefik was deployed though the ingress is 'none'");
});

chapter("rebooted when done: syncs on as the same agent, changes nothing", async () => {
  const { container, portal } = theNode();
  const uids = await secretUids();
  await portal.admin("DELETE", "/admin/requests");
  await container.reboot();
  const bootId = await container.bootId();
  await waitForReport((latest) => latest.node.boot_id === bootId && latest.node.api === "up");
  const view = await assertSameAgent(await readKept(theNode()));
  assert.deepEqual(view.requests.filter(({ path }) => path.endsWith("/enroll")), []);
  assert.deepEqual(view.breaches, []);
  assert.equal(await secretUids(), uids);
});

check("the log: says what happened and never a secret", async () => {
  const { agent, container, portal, s3 } = theNode();
  const journal = await agent.journal();
  const everything = journal + await container.run(["journalctl", "--output=verbose"]);
  const k3sKeys = JSON.stringify(story.keys).match(/[A-Za-z0-9+/]{40,}=*/g) ?? [];
  assert.equal(k3sKeys.length, 2, "two private keys stand in identity.json");
  for (const secret of [...Object.values(SECRETS), portal.token, s3.secretKey, ...k3sKeys]) {
    assert.ok(!everything.includes(secret), `a secret is in the journal: ${secret}`);
  }
});

/** The agent's latest report, once it fits. */
async function waitForReport(fits: (report: SyncReport) => boolean): Promise<SyncReport> {
  let latest: SyncReport | null = null;
  try {
    return await waitUntil("a fitting report", async () => {
      latest = (await viewPortal(theNode())).agents[story.agentId ?? ""]?.report ?? null;
      return latest !== null && fits(latest) ? latest : undefined;
    }, { timeoutMs: 120_000, everyMs: 1_000 });
  } catch (error) {
    throw new Error(`${String(error)}; the last one: ${JSON.stringify(latest)}`);
  }
}

async function kubeSystemUid(): Promise<string> {
  const args = ["get", "namespace", "kube-system", "-o=jsonpath={.metadata.uid}"];
  return await kubectl(theNode().container, args);
}

async function secretUids(): Promise<string> {
  const jsonpath = "-o=jsonpath={range .items[*]}{.metadata.uid} {.metadata.resourceVersion} {end}";
  const args = ["-n", "kube-system", "get", "secrets", "-l", "pbx.io/managed=true", jsonpath];
  return await kubectl(theNode().container, args);
}
