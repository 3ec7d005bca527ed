// needs: etcd kube-apiserver
/**
 * Add-ons and the leader on a real Kubernetes API server, what was done there told by another client and
 * by the audit log. About 2 minutes; with PBX_LONG=1 the leader's test runs at its real pace (4 more).
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type AddonWitness, openAddonWitness } from "../lab/addon_witness.ts";
import { auditOf, isWrite } from "../lab/audit_log.ts";
import { connectionsTo } from "../lab/connections.ts";
import { type KubeApi, startKubeApi } from "../lab/kube_api.ts";
import { startLabProcess } from "../lab/lab_process.ts";
import { pauseProcess } from "../lab/pause_process.ts";
import { waitUntil } from "../lab/wait_until.ts";
import type { NodeK8s } from "../../adapters/node/k8s.ts";
import type { ObjectRef } from "../../core/ports/k8s.ts";
import {
  addon,
  type AddonCluster,
  chart,
  CLUSTER,
  platform,
  PLATFORM_API,
  template,
  templatesOf,
} from "../unit/cluster/addon_world.ts";
import { assertRow, STATE_ROWS } from "../unit/cluster/state_rows.ts";
import {
  clear,
  connect,
  createRealCluster,
  installHelmKinds,
  installPlatformKinds,
} from "./cluster/real_cluster.ts";

const LEADER = fileURLToPath(new URL("cluster/leader_main.ts", import.meta.url));
const isLong = Deno.env.get("PBX_LONG") === "1";

/** The API server that all tests of this suite share. */
const lab: { api?: KubeApi; witness?: AddonWitness } = {};

function api(): KubeApi {
  assert.ok(lab.api, "the API server did not start");
  return lab.api;
}

function witness(): AddonWitness {
  assert.ok(lab.witness, "the API server did not start");
  return lab.witness;
}

Deno.test.beforeAll(async () => {
  lab.api = await startKubeApi({ audit: true });
  lab.witness = openAddonWitness(lab.api, PLATFORM_API);
});

Deno.test.afterAll(async () => await lab.api?.stop());

/** A test with a cluster that has no add-ons. `version` finds what it did in the audit log. */
function onCluster(
  name: string,
  run: (cluster: AddonCluster, k8s: NodeK8s) => Promise<void>,
  version = "cluster",
): void {
  // The witness keeps a connection for each of its calls.
  const quiet = { sanitizeOps: false, sanitizeResources: false };
  Deno.test(name, quiet, async () => {
    const k8s = await connect(api().kubeconfig, { version });
    try {
      await clear(k8s);
      await run(createRealCluster(k8s, witness()), k8s);
    } finally {
      k8s.close();
    }
  });
}

function chartRef(name: string): ObjectRef {
  const apiVersion = "helm.cattle.io/v1";
  return { apiVersion, resource: "helmcharts", namespace: "kube-system", name };
}

/** Applies a chart's fields as somebody else. */
async function writeAs(
  fieldManager: string,
  name: string,
  spec: Record<string, string>,
  finalizers?: readonly string[],
): Promise<void> {
  const other = await connect(api().kubeconfig, { fieldManager });
  const metadata = { name, namespace: "kube-system", ...(finalizers && { finalizers }) };
  const object = { apiVersion: "helm.cattle.io/v1", kind: "HelmChart", metadata, spec };
  const applied = await other.apply(chartRef(name), object);
  other.close();
  assert.ok(applied.ok, JSON.stringify(applied));
}

onCluster("kinds that do not exist yet are waited for, and found", async (cluster, k8s) => {
  cluster.templates = templatesOf({ a: {} });
  cluster.addons = [addon("a")];
  assert.deepEqual(await cluster.turn(), {
    a: "pending: the cluster does not know helmcharts yet",
  });
  await installHelmKinds(k8s);
  assert.deepEqual(await cluster.turn(), { a: "applied" });
  assert.deepEqual(await cluster.objects(), ["helmcharts/a"]);
});

for (const row of STATE_ROWS) {
  onCluster(`the table: ${row.what}`, (cluster) => assertRow(cluster, row));
}

onCluster(
  "fields of others stay, what they took from the template is put right",
  async (cluster) => {
    cluster.templates = templatesOf({ a: {} });
    cluster.addons = [addon("a")];
    await cluster.turn();
    await writeAs("customer", "a", { timeout: "9m", chart: "theirs" });
    assert.deepEqual(await cluster.turn(), { a: "applied" });
    const { spec, managers, labels } = await witness().chart("a");
    assert.deepEqual([spec["timeout"], spec["chart"]], ["9m", "a"]);
    assert.deepEqual([...managers].sort(), ["customer", "pbx-agent"]);
    assert.deepEqual(labels, { "pbx.io/managed": "true", "pbx.io/addon": "a" });
    assert.deepEqual([spec["failurePolicy"], spec["backOffLimit"]], ["abort", 3]);
  },
);

onCluster("a field that the template no longer has goes at once", async (cluster) => {
  cluster.templates = templatesOf({ a: { objects: [chart("a", { timeout: "5m" })] } });
  cluster.addons = [addon("a")];
  await cluster.turn();
  cluster.templates["a"] = template("a");
  await cluster.turn();
  assert.equal((await witness().chart("a")).spec["timeout"], undefined);
  assert.deepEqual((await cluster.plan()).flatMap(({ apply }) => apply), []);
});

onCluster("a map whose fields all go becomes empty, not null", async (cluster) => {
  cluster.addons = [addon("a")];
  const turns = [{ a: { b: 1 }, c: 1 }, { a: {}, c: 1 }, { a: {} }, { a: { b: {} } }, { x: 1 }, {}];
  for (const values of turns) {
    cluster.templates["a"] = template("a", { objects: [chart("a", { values })] });
    assert.deepEqual(await cluster.turn(), { a: "applied" });
    assert.deepEqual((await witness().chart("a")).spec["values"], values);
    assert.deepEqual((await cluster.plan()).flatMap(({ apply }) => apply), []);
  }
});

onCluster("a chart stuck in deletion is told, and its finalizers stay", async (cluster, k8s) => {
  cluster.templates = templatesOf({ a: {} });
  cluster.addons = [addon("a")];
  await cluster.turn();
  const finalizer = "wrangler.cattle.io/on-helm-chart-remove";
  await writeAs("helm", "a", {}, [finalizer]);
  cluster.addons = [addon("a", false)];
  await cluster.turn();
  const stuck = { a: "pending: helmcharts/a is being deleted and waits for its finalizers" };
  assert.deepEqual([await cluster.turn(), await cluster.turn(true)], [stuck, stuck]);
  const { deleting, finalizers } = await witness().chart("a");
  assert.deepEqual([deleting, finalizers], [true, [finalizer]]);
  await writeAs("helm", "a", {}, []);
  assert.deepEqual(await cluster.turn(), { a: "removed" });
  assert.equal((await k8s.get(chartRef("a"))).ok, true);
});

onCluster(
  "secret options are in the add-on's Secret alone; the chart's health is seen",
  async (cluster) => {
    cluster.templates = templatesOf({
      a: {
        options: { password: { type: "string", secret: true } },
        secret_data: { key: "password" },
        health: [{ helmchart: { name: "a" } }],
      },
    });
    cluster.addons = [{ ...addon("a"), secret_options: { password: { sealed: "x" } } }];
    assert.deepEqual(await cluster.turn(), { a: "pending: chart a is being installed" });
    assert.deepEqual(await witness().secretText("pbx-addon-a"), { key: "hunter2-the-secret" });
    assert.doesNotMatch(JSON.stringify(await witness().chart("a")), /hunter2|aHVudGVy/);
    await witness().installed("a");
    assert.deepEqual(await cluster.turn(), { a: "applied" });
    assert.deepEqual(await cluster.objects(), ["helmcharts/a", "secrets/pbx-addon-a"]);
  },
);

onCluster(
  "the Platform goes in two steps, and not before its applications",
  async (cluster, k8s) => {
    cluster.templates = templatesOf({
      paas: { removal: "platform", objects: [chart("paas"), platform()] },
    });
    cluster.addons = [addon("paas")];
    assert.deepEqual(await cluster.turn(), {
      paas: "pending: the cluster does not know platforms yet",
    });
    await installPlatformKinds(k8s);
    assert.deepEqual(await cluster.turn(), { paas: "applied" });

    const application: ObjectRef = {
      apiVersion: "apps.example.com/v1beta1",
      resource: "saasapplications",
      namespace: "default",
      name: "shop",
    };
    const made = await k8s.create(application, {
      apiVersion: application.apiVersion,
      kind: "SaaSApplication",
      metadata: { name: "shop", namespace: "default" },
    });
    assert.ok(made.ok, JSON.stringify(made));
    cluster.addons = [addon("paas", false)];
    const used = "failed: still used by default/shop; delete them first";
    assert.deepEqual(await cluster.turn(), { paas: used });
    assert.deepEqual(await witness().platformSpec(CLUSTER), { components: ["all"] });
    await k8s.remove(application);

    assert.match(
      (await cluster.turn())["paas"] ?? "",
      /^pending: a Platform that installs nothing/,
    );
    assert.deepEqual(await witness().platformSpec(CLUSTER), {});
    assert.match((await cluster.turn())["paas"] ?? "", /^pending: waits until/);
    await witness().setPlatform(CLUSTER, "RemovalRefused", "a volume is in use");
    assert.deepEqual(await cluster.turn(), { paas: "failed: a volume is in use" });
    assert.deepEqual(await cluster.objects(), ["helmcharts/paas", `platforms/${CLUSTER}`]);
    await witness().setPlatform(CLUSTER, "Removed");
    for (const state of [/the Platform itself goes/, /is being removed/, /^removed$/]) {
      assert.match((await cluster.turn())["paas"] ?? "", state);
    }
    assert.deepEqual(await cluster.objects(), []);
  },
);

onCluster("50 add-ons with 200 objects: idle cycles write nothing", async (cluster) => {
  const names = Array.from({ length: 50 }, (_, index) => `idle-${index}`);
  cluster.templates = templatesOf(Object.fromEntries(names.map((name, index) => [name, {
    requires: index % 5 === 0 ? [] : [`idle-${index - 1}`],
    options: { password: { type: "string", secret: true } },
    secret_data: { key: "password" },
    objects: ["a", "b", "c"].map((part) =>
      chart(`${name}-${part}`, { values: { list: [{ a: 1 }], none: null, empty: {} } })
    ),
  }])));
  const secret_options = { password: { sealed: "x" } };
  cluster.addons = names.map((name) => ({ ...addon(name), secret_options }));
  const states = Object.values(await cluster.turn());
  assert.deepEqual(new Set(states), new Set(["applied"]));
  assert.equal((await cluster.objects()).length, 200);
  const before = (await auditOf(api(), "pbx-agent/idle")).length;
  const connected = await connectionsTo(api().port);
  const turns = isLong ? 2_000 : 100;
  for (let turn = 0; turn < turns; turn++) await cluster.turn();
  const after = (await auditOf(api(), "pbx-agent/idle")).slice(before);
  assert.deepEqual(after.filter(isWrite), []);
  assert.equal(after.length, 3 * turns, "a cycle asks for three lists");
  const more = await connectionsTo(api().port) - connected;
  assert.ok(more <= 2, `${more} connections more than before`);
}, "idle");

onCluster(
  "an API server that stands still is told, and the next turn puts it right",
  async (cluster) => {
    cluster.templates = templatesOf({ a: {}, b: {} });
    cluster.addons = [addon("a"), addon("b")];
    const k8s = cluster.k8s;
    Object.assign(cluster, {
      k8s: {
        ...k8s,
        async apply(...args: Parameters<NodeK8s["apply"]>) {
          await api().pause();
          return await k8s.apply(...args);
        },
      },
    });
    try {
      const { a, b } = await cluster.turn();
      assert.match(a ?? "", /^pending: helmcharts\/a: .*no complete answer in 10000 ms/);
      assert.match(b ?? "", /^pending: helmcharts\/a: /);
    } finally {
      api().resume();
    }
    Object.assign(cluster, { k8s });
    assert.deepEqual(await cluster.turn(), { a: "applied", b: "applied" });
  },
);

onCluster("two agents and a lease, the one that leads stopped: never do both apply", async () => {
  const speed = isLong ? 1 : 4;
  const start = (name: string) =>
    startLabProcess(Deno.execPath(), [
      ...["run", "-A", "--frozen", "--no-check", LEADER],
      ...[api().kubeconfig, name, String(speed)],
    ]);
  const limit = { timeoutMs: 180_000 / speed };
  const one = start("leads-first");
  const two = { process: undefined as ReturnType<typeof start> | undefined };
  try {
    const led = () => one.stdout.filter((line) => line === "leads").length;
    await waitUntil("the first to lead", () => Promise.resolve(led() >= 8 || undefined), {
      timeoutMs: 60_000,
    });
    two.process = start("leads-second");
    await two.process.waitForLine((line) => line === "waits", 60_000);
    // Between two writes: what was sent before the stop would arrive at the server all the same.
    const lines = one.stdout.length;
    await waitUntil("a turn's end", () => Promise.resolve(one.stdout.length > lines || undefined), {
      timeoutMs: 10_000,
      everyMs: 5,
    });
    await pauseProcess(one.pid);
    const { stdout } = two.process;
    await waitUntil(
      "the other to lead",
      () => Promise.resolve(stdout.includes("leads") || undefined),
      limit,
    );
    await new Promise((resolve) => setTimeout(resolve, 90_000 / speed / 3));
    Deno.kill(one.pid, "SIGCONT");
    await new Promise((resolve) => setTimeout(resolve, 40_000 / speed));
  } finally {
    await Promise.all([one.stop("SIGKILL"), two.process?.stop("SIGKILL")]);
  }
  const writes = async (name: string) =>
    (await auditOf(api(), `pbx-agent/${name}`)).filter(isWrite)
      .filter(({ uri }) => uri.includes("/helmcharts/")).map(({ at }) => at);
  const [first, second] = [await writes("leads-first"), await writes("leads-second")];
  assert.ok(first.length > 3 && second.length > 3, `${first.length}, ${second.length} writes`);
  const pause = Math.min(...second) - Math.max(...first);
  // The lease ran out by both clocks: nobody wrote for as long as the margin between the two.
  assert.ok(pause > 10_000 / speed, `the second wrote ${pause} ms after the first`);
});
