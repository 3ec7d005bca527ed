// needs: etcd kube-apiserver
/**
 * The Kubernetes API in trouble: it answers 429, 409 or 503 to a read, a list or an apply, it ends and
 * comes again, and it has no watch cache. What the agent wrote meanwhile is told by what came through to
 * the API server. About 15 s.
 */
import assert from "node:assert/strict";
import { createFakeLog } from "../../adapters/fake/log.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import type { NodeK8s } from "../../adapters/node/k8s.ts";
import { applySecrets } from "../../core/agent/converge_cluster.ts";
import { createLeader } from "../../core/cluster/leader.ts";
import { hcloudSecret } from "../../core/cluster/secrets.ts";
import { Secret } from "../../core/secret.ts";
import { type AddonWitness, openAddonWitness } from "../lab/addon_witness.ts";
import { connectionsTo } from "../lab/connections.ts";
import { type KubeApi, startKubeApi } from "../lab/kube_api.ts";
import { waitUntil } from "../lab/wait_until.ts";
import {
  addon,
  type AddonCluster,
  chart,
  chartPath,
  PLATFORM_API,
  template,
  templatesOf,
} from "../unit/cluster/addon_world.ts";
import {
  type FaultingFront,
  saidWith,
  startFaultingFront,
  TROUBLES,
} from "./cluster/faulting_front.ts";
import { clear, connect, createRealCluster, installHelmKinds } from "./cluster/real_cluster.ts";

const lab: { api?: KubeApi; witness?: AddonWitness; front?: FaultingFront } = {};

function parts() {
  const { api, witness, front } = lab;
  assert.ok(api && witness && front, "the API server did not start");
  return { api, witness, front };
}

Deno.test.beforeAll(async () => {
  const api = lab.api = await startKubeApi();
  lab.witness = openAddonWitness(api, PLATFORM_API);
  lab.front = await startFaultingFront(api);
  const k8s = await connect(api.kubeconfig);
  await installHelmKinds(k8s);
  k8s.close();
});

Deno.test.afterAll(async () => {
  await lab.front?.stop();
  await lab.api?.stop();
});

/** A test with a cluster that has no add-ons, seen through the front or directly. */
function onCluster(
  name: string,
  run: (cluster: AddonCluster, k8s: NodeK8s) => Promise<void>,
  way: "front" | "api" = "front",
): void {
  // The witness keeps a connection for each of its calls.
  const quiet = { sanitizeOps: false, sanitizeResources: false };
  Deno.test(name, quiet, async () => {
    const k8s = await connect(parts()[way].kubeconfig);
    try {
      await clear(k8s);
      parts().front.forget();
      await run(createRealCluster(k8s, parts().witness), k8s);
    } finally {
      parts().front.fault = null;
      k8s.close();
    }
  });
}

const SECRETS_PATH = "/api/v1/namespaces/kube-system/secrets";

/** Add-on `a` with these charts, the values of the first one changed where `values` is told. */
function templateOf(charts: readonly string[], values: Record<string, number> = {}) {
  return template("a", {
    objects: charts.map((name, i) => chart(name, i === 0 ? { values } : {})),
  });
}

for (const status of TROUBLES) {
  onCluster(
    `${status} to a list: nothing is written, and after it all is put right`,
    async (cluster) => {
      const { front } = parts();
      cluster.addons = [addon("a"), addon("b")];
      cluster.templates = { ...templatesOf({ b: {} }), a: templateOf(["a-1", "a-2"]) };
      assert.deepEqual(await cluster.turn(), { a: "applied", b: "applied" });
      cluster.templates["a"] = templateOf(["a-1", "a-3"]);
      const written = front.writes.length;
      // The kind of its objects: an add-on without a Secret does not wait for those.
      const path = chartPath("").slice(0, -1);
      front.fault = { status, hits: (method, at) => method === "GET" && at === path };
      const { a = "" } = await cluster.turn();
      const said = `could not be listed: GET ${path}: ${saidWith(status)}`;
      assert.ok(a.startsWith("pending: ") && a.includes(said), a);
      assert.equal(front.writes.length, written);
      assert.deepEqual(await cluster.objects(), [
        "helmcharts/a-1",
        "helmcharts/a-2",
        "helmcharts/b",
      ]);
      front.fault = null;
      assert.deepEqual(await cluster.turn(), { a: "applied", b: "applied" });
      assert.deepEqual(front.writes.slice(written), [
        `PATCH ${chartPath("a-3")}`,
        `DELETE ${chartPath("a-2")}`,
      ]);
    },
  );

  onCluster(
    `${status} to an apply: the add-on keeps what it has and goes on from there`,
    async (cluster) => {
      const { front } = parts();
      cluster.addons = [addon("a"), addon("b")];
      cluster.templates = { ...templatesOf({ b: {} }), a: templateOf(["a-1", "a-2"]) };
      await cluster.turn();
      cluster.templates = {
        ...templatesOf({ b: { objects: [chart("b", { timeout: "5m" })] } }),
        a: templateOf(["a-1", "a-3"], { x: 1 }),
      };
      front.forget();
      front.fault = { status, hits: (method, at) => method === "PATCH" && at === chartPath("a-3") };
      const hits = front.hits;
      for (let turn = 0; turn < 3; turn++) {
        const { a, b } = await cluster.turn();
        assert.equal(a, `pending: helmcharts/a-3: apply ${chartPath("a-3")}: ${saidWith(status)}`);
        assert.equal(b, "applied");
      }
      assert.equal(front.hits - hits, 3, "each turn tries it once");
      assert.deepEqual(front.writes, [`PATCH ${chartPath("a-1")}`, `PATCH ${chartPath("b")}`]);
      assert.deepEqual(await cluster.objects(), [
        "helmcharts/a-1",
        "helmcharts/a-2",
        "helmcharts/b",
      ]);
      front.fault = null;
      assert.deepEqual(await cluster.turn(), { a: "applied", b: "applied" });
      assert.deepEqual(front.writes.slice(2), [
        `PATCH ${chartPath("a-3")}`,
        `DELETE ${chartPath("a-2")}`,
      ]);
      assert.deepEqual((await cluster.plan()).flatMap(({ apply }) => apply), []);
    },
  );

  onCluster(
    `${status} to an apply that was done all the same: it is not done again`,
    async (cluster) => {
      const { front } = parts();
      cluster.addons = [addon("a")];
      cluster.templates = { a: templateOf(["a-1", "a-2"]) };
      front.fault = {
        status,
        isDone: true,
        hits: (method, at) => method === "PATCH" && at === chartPath("a-1"),
      };
      assert.match((await cluster.turn())["a"] ?? "", /^pending: helmcharts\/a-1: /);
      front.fault = null;
      assert.deepEqual(await cluster.turn(), { a: "applied" });
      assert.deepEqual(front.writes, [`PATCH ${chartPath("a-1")}`, `PATCH ${chartPath("a-2")}`]);
    },
  );

  onCluster(
    `${status} to the read of a chart's health: the state says so, and nothing else changes`,
    async (cluster, k8s) => {
      const { front, witness } = parts();
      // The Job and the release of a chart stay from test to test.
      const name = `chart-${status}`;
      cluster.addons = [addon(name), addon("b")];
      cluster.templates = templatesOf({ [name]: { health: [{ helmchart: { name } }] }, b: {} });
      await cluster.turn();
      await witness.installed(name);
      assert.deepEqual(await cluster.turn(), { [name]: "applied", b: "applied" });
      const before = await versionsOf(k8s);
      front.forget();
      const job = `/apis/batch/v1/namespaces/kube-system/jobs/helm-install-${name}`;
      front.fault = { status, hits: (_, at) => at === job };
      assert.deepEqual(await cluster.turn(), {
        [name]: `pending: its health could not be read: GET ${job}: ${saidWith(status)}`,
        b: "applied",
      });
      front.fault = null;
      assert.deepEqual(await cluster.turn(), { [name]: "applied", b: "applied" });
      // What is not known to be healthy is applied in every cycle, which changes nothing.
      assert.deepEqual(front.writes, [`PATCH ${chartPath(name)}`]);
      assert.deepEqual(await versionsOf(k8s), before);
    },
  );

  onCluster(
    `${status} to the read or the apply of the Secret hcloud: told, and applied once it goes`,
    async (_, k8s) => {
      const { front, witness } = parts();
      const wanted = hcloudSecret(new Secret(`token-${status}`));
      const path = `${SECRETS_PATH}/hcloud`;
      const log = createFakeLog();
      // Of the whole context it takes these two.
      const context = { ports: { k8s, log } } as unknown as Parameters<typeof applySecrets>[0];
      const apply = () => applySecrets(context, [wanted], false);
      for (
        const [method, what, action] of [["GET", "read", "GET"], ["PATCH", "applied", "apply"]]
      ) {
        front.fault = { status, hits: (by, at) => by === method && at === path };
        assert.deepEqual(await apply(), {
          ok: false,
          error: `Secret kube-system/hcloud could not be ${what}: ${action} ${path}: ${
            saidWith(status)
          }`,
        });
      }
      assert.deepEqual(front.writes, []);
      front.fault = null;
      for (let turn = 0; turn < 2; turn++) assert.equal((await apply()).ok, true);
      assert.deepEqual(front.writes, [`PATCH ${path}`]);
      assert.deepEqual(await witness.secretText("hcloud"), { token: `token-${status}` });
    },
  );

  onCluster(
    `${status} to the renewal of the lease: only a conflict ends the leading`,
    async (_, k8s) => {
      const { front } = parts();
      const leader = createLeader({
        k8s,
        clock: createNodeClock(),
        log: createFakeLog(),
        holder: "one",
        whyNot: () => Promise.resolve(null),
      });
      await leader.renew();
      assert.equal(leader.leads(), true);
      front.fault = { status, hits: (method, at) => method === "PATCH" && at.includes("/leases/") };
      const hits = front.hits;
      await leader.renew();
      assert.equal(front.hits, hits + 1);
      assert.equal(leader.leads(), status !== 409);
      front.fault = null;
      await leader.renew();
      assert.equal(leader.leads(), true);
    },
  );
}

for (const watchCache of [true, false]) {
  const how = watchCache ? "with a fresh watch cache" : "without a watch cache";
  onCluster(
    `an API server that ends and comes again ${how}: told, nothing rewritten, no connection leaks`,
    async (cluster, k8s) => {
      const { api } = parts();
      const names = Array.from({ length: 10 }, (_, index) => `a-${index}`);
      cluster.addons = names.map((name) => addon(name));
      cluster.templates = templatesOf(Object.fromEntries(names.map((name) => [name, {}])));
      await cluster.turn();
      const applied = Object.fromEntries(names.map((name) => [name, "applied"]));
      const before = await connectionsTo(api.port);
      const versions = await versionsOf(k8s);

      await api.stopServer();
      for (let turn = 0; turn < 20; turn++) {
        await assert.rejects(cluster.turn(), /the cluster could not be read: .*refused/i);
      }
      // What is to change meanwhile is changed once it is back.
      cluster.templates["a-0"] = template("a-0", { objects: [chart("a-0", { timeout: "5m" })] });
      api.startServer({ watchCache });
      const unexpected: string[] = [];
      await waitUntil("the add-ons to converge", async () => {
        const states = await cluster.turn().catch(({ message }: Error) => ({ all: message }));
        const said = Object.values(states).filter((state) => state !== "applied");
        // A turn that sees the cluster sees the whole of it: no kind is missing meanwhile.
        unexpected.push(
          ...said.filter((one) => !/^(the cluster could not be read|pending): /.test(one)),
        );
        return said.length === 0 || undefined;
      }, { timeoutMs: 60_000, everyMs: 20 });
      assert.deepEqual(unexpected, []);

      const after = await versionsOf(k8s);
      const changed = names.filter((name) => after.get(name) !== versions.get(name));
      assert.deepEqual(changed, ["a-0"], "what did not differ was not written");
      for (let turn = 0; turn < 20; turn++) assert.deepEqual(await cluster.turn(), applied);
      const more = await connectionsTo(api.port) - before;
      assert.ok(more <= 2, `${more} connections more than before`);
      assert.deepEqual(await cluster.objects(), names.map((name) => `helmcharts/${name}`));
    },
    "api",
  );
}

/** The resourceVersion of each chart by its name. */
async function versionsOf(k8s: NodeK8s): Promise<ReadonlyMap<string, string>> {
  const listed = await k8s.list({ apiVersion: "helm.cattle.io/v1", resource: "helmcharts" });
  assert.ok(listed.ok, JSON.stringify(listed));
  return new Map((listed.value ?? []).map(({ metadata }) => {
    const { name, resourceVersion } = metadata as Record<string, string>;
    return [name ?? "", resourceVersion ?? ""];
  }));
}
