import assert from "node:assert/strict";
import { parse } from "yaml";
import { secretsIn, secretsOf } from "./secrets.ts";
import { namesIn } from "./tree.ts";
import { inWorld, type World } from "./world.ts";

const decoder = new TextDecoder();

/** Each file or folder of the agent and the mode that it must have. */
const MODES: readonly [string, number][] = [
  ["/etc/pbx-agent/config.yaml", 0o600],
  ["/var/lib/pbx-agent", 0o700],
  ["/var/lib/pbx-agent/identity.json", 0o600],
  ["/var/lib/pbx-agent/state.json", 0o600],
  ["/var/lib/pbx-agent/bootstrap.json", 0o600],
  ["/var/lib/pbx-agent/release.json", 0o600],
  ["/var/lib/pbx-agent/lock", 0o600],
  ["/etc/rancher/k3s/config.yaml", 0o600],
  ["/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml", 0o600],
  ["/etc/rancher/k3s/config.yaml.d/50-pbx-ingress.yaml", 0o600],
  ["/var/lib/rancher/k3s/server/manifests/pbx-hcloud-cloud-controller-manager.yaml", 0o600],
];

Deno.test("run: from a fresh node to a synced one, by the protocol and without a secret in sight", async () => {
  await inWorld(async (world) => {
    // Whoever installs the program makes its folders with the usual rights.
    await world.write("/var/lib/pbx-agent/bin/pbx-agent", "the program\n", 0o755);
    await Deno.chmod(`${world.root}/var/lib/pbx-agent`, 0o755);
    const agent = await world.startSynced();
    const secrets = await secretsOf(world);
    assert.equal(secrets.length, 10, "the secrets to look for are known");

    await checkRequests(world);
    await checkFiles(world, secrets);
    checkCluster(world);

    const process = `/proc/${agent.pid}`;
    const seen = {
      "the command line": await Deno.readTextFile(`${process}/cmdline`),
      "the environment": await Deno.readTextFile(`${process}/environ`),
      "status": (await world.cli("status")).stdout,
      "status --text": (await world.cli("status", "--text")).stdout,
      "what systemctl was given": (await world.node.systemctlCalls()).join("\n"),
      "the reports": JSON.stringify(world.report()),
    };
    assert.deepEqual(await agent.stop(), { code: 0, signal: null });
    assert.equal(agent.lines().at(-1)?.event, "agent_ended");
    // Only now: while it runs it may be in the middle of any write.
    const left = await namesIn(`${world.root}/var/lib/pbx-agent`);
    assert.deepEqual(left.filter((name) => name.endsWith(".tmp")), []);
    for (const [where, text] of Object.entries({ ...seen, "the log": agent.stderr() })) {
      assert.deepEqual(secretsIn(text, secrets), [], `in ${where}`);
    }
    assert.equal(agent.stdout(), "");
  }, { measured: true });
});

function checkRequests(world: World): void {
  assert.deepEqual(world.running.portal.memory.breaches, []);
  const requests = world.requests();
  assert.deepEqual(
    requests.slice(0, 3).map(({ method, path }) => `${method} ${path}`),
    [
      "POST /agent/v1/enroll",
      "POST /agent/v1/sync",
      "GET /agent/v1/releases/1.0.0/manifest",
    ],
  );
  for (const { path, status, code } of requests) {
    assert.deepEqual([path, status, code], [path, 200, null]);
  }
  assert.equal(world.requests("/enroll").length, 1);
  assert.equal(world.requests("/manifest").length, 1, "a verified manifest is kept");
  assert.equal(world.agents().length, 1);
  const report = world.report();
  assert.equal(report?.node.name, "demo-1");
  assert.equal(report?.node.server_id, "4711001");
  assert.equal(report?.node.k3s.unit, "active");
  assert.equal(report?.node.k3s.version, "v1.36.3+k3s1");
  assert.deepEqual(report?.conditions, []);
  assert.deepEqual(report?.pending, { k3s_restart: false });
}

async function checkFiles(world: World, secrets: readonly string[]): Promise<void> {
  for (const [path, mode] of MODES) {
    const stat = await Deno.stat(world.root + path);
    assert.equal((stat.mode ?? 0) & 0o7777, mode, `${path}: ${stat.mode?.toString(8)}`);
  }

  // All but the line with the token, byte for byte.
  const config = await world.read("/etc/pbx-agent/config.yaml");
  assert.equal(config, world.configYaml.replace(/^enrollment_token: .*\n/m, ""));

  for (const name of ["state.json", "bootstrap.json", "release.json"]) {
    const text = await world.read(`/var/lib/pbx-agent/${name}`);
    assert.deepEqual(secretsIn(text, secrets), [], `${name} keeps its secrets sealed`);
  }
  const k3sText = await world.read("/etc/rancher/k3s/config.yaml");
  assert.equal(secretsIn(k3sText, secrets).length, 1, "the search finds what is there");
  const k3s = parse(k3sText);
  assert.equal(k3s["cluster-init"], true);
  assert.ok(secrets.includes(k3s["token"]), "k3s gets the token that the portal sealed");
  assert.deepEqual(
    parse(
      await world.read(
        "/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml",
      ),
    ),
    {
      "etcd-s3": true,
      "etcd-s3-config-secret": "pbx-etcd-s3",
      "etcd-snapshot-schedule-cron": "0 */6 * * *",
      "etcd-snapshot-retention": 28,
      "etcd-snapshot-compress": true,
    },
  );
  assert.deepEqual(
    parse(await world.read("/etc/rancher/k3s/config.yaml.d/50-pbx-ingress.yaml")),
    {},
  );
  assert.match(
    await world.read(
      "/var/lib/rancher/k3s/server/manifests/pbx-hcloud-cloud-controller-manager.yaml",
    ),
    /^kind: HelmChart$/m,
  );
}

function checkCluster(world: World): void {
  const [cluster] = world.running.portal.state.clusters.values();
  const secrets = cluster?.bootstrap["secrets"] as Record<string, Record<string, unknown>>;
  assert.deepEqual(dataOf(world, "hcloud"), {
    token: (secrets["hcloud"]?.["token"] as { plain: string }).plain,
    network: "demo-network",
  });
  const s3 = dataOf(world, "pbx-etcd-s3");
  assert.equal(s3["etcd-s3-bucket"], "pbx-snapshots");
  assert.equal(
    s3["etcd-s3-secret-key"],
    (secrets["etcd_s3"]?.["secret_key"] as { plain: string }).plain,
  );
}

/** A Secret of kube-system, its values decoded. */
function dataOf(world: World, name: string): Record<string, string> {
  const secret = world.node.api()?.read(`/api/v1/namespaces/kube-system/secrets/${name}`);
  const data = (secret?.["data"] ?? {}) as Record<string, string>;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      decoder.decode(Uint8Array.from(atob(value), (char) => char.charCodeAt(0))),
    ]),
  );
}
