import assert from "node:assert/strict";
import type { K8s } from "../../core/ports/k8s.ts";
import { mustRun, onPath } from "../lab/command.ts";
import { type KubeApi, startKubeApi } from "../lab/kube_api.ts";
import { findPart } from "../lab/parts.ts";
import { connect, createRealCluster, installHelmKinds } from "../real/cluster/real_cluster.ts";
import { complain } from "../runner/say.ts";
import { addon, type AddonCluster, chart, templatesOf } from "../unit/cluster/addon_world.ts";
import type { Bench } from "./bench.ts";
import { median } from "./median.ts";

const ADDONS = 50;
const CHARTS = 4;
const RUNS = 15;
const KUBECTL_RUNS = 3;

/** A converge cycle over 200 objects of 50 add-ons, beside `kubectl apply --server-side` of the same. */
export async function bench(): Promise<readonly Bench[]> {
  try {
    await Promise.all([findPart("etcd"), findPart("kube-apiserver")]);
  } catch (missing) {
    complain(`addons is left out: ${missing instanceof Error ? missing.message : String(missing)}`);
    return [];
  }
  const api = await startKubeApi();
  const k8s = await connect(api.kubeconfig);
  try {
    await installHelmKinds(k8s);
    const counted = counting(k8s);
    const cluster = createRealCluster({ ...k8s, ...counted.k8s });
    layOut(cluster);
    const applied = await cluster.turn();
    assert.deepEqual(new Set(Object.values(applied)), new Set(["applied"]));
    const idle: number[] = [];
    const again: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      idle.push(await timed(() => cluster.turn()));
      again.push(await timed(() => cluster.turn(true)));
    }
    const before = counted.requests();
    await cluster.turn();
    const requests = counted.requests() - before;
    const kubectl = await timeKubectl(api, cluster);
    const baseline = kubectl === null ? {} : { baseline: kubectl };
    const what = `${ADDONS * CHARTS} objects`;
    return [{
      name: "addons",
      rows: [
        { what: `${what}, nothing differs`, value: median(idle), unit: "ms", ...baseline },
        { what: "requests of such a cycle", value: requests, unit: "" },
        { what: `${what}, all applied again`, value: median(again), unit: "ms", ...baseline },
      ],
    }];
  } finally {
    k8s.close();
    await api.stop();
  }
}

function layOut(cluster: AddonCluster): void {
  const names = Array.from({ length: ADDONS }, (_, index) => `addon-${index}`);
  cluster.templates = templatesOf(Object.fromEntries(names.map((name) => [name, {
    objects: Array.from(
      { length: CHARTS },
      (_, part) =>
        chart(`${name}-${part}`, { version: "1.2.3", values: { replicas: 2, list: [{ a: 1 }] } }),
    ),
  }])));
  cluster.addons = names.map((name) => addon(name));
}

function counting(k8s: K8s): { readonly k8s: Partial<K8s>; requests(): number } {
  let requests = 0;
  const count = <T>(answer: T): T => {
    requests++;
    return answer;
  };
  return {
    requests: () => requests,
    k8s: {
      get: (ref) => count(k8s.get(ref)),
      list: (ref, labels) => count(k8s.list(ref, labels)),
      apply: (ref, object) => count(k8s.apply(ref, object)),
    },
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The same objects, unchanged, by kubectl; null where it is not at hand. */
async function timeKubectl(api: KubeApi, cluster: AddonCluster): Promise<number | null> {
  if (!await onPath("kubectl")) {
    complain("kubectl is not at hand: nothing to compare with");
    return null;
  }
  const plans = await cluster.plan(true);
  const items = plans.flatMap(({ apply }) => apply.map(({ object }) => object));
  const folder = await Deno.makeTempDir({ prefix: "pbx-bench-" });
  const file = `${folder}/objects.json`;
  try {
    await Deno.writeTextFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    const args = ["apply", "--server-side", "--force-conflicts", "--kubeconfig", api.kubeconfig];
    args.push("--cache-dir", `${folder}/cache`);
    const runs: number[] = [];
    for (let run = 0; run <= KUBECTL_RUNS; run++) {
      runs.push(
        await timed(() => mustRun("kubectl", [...args, "-f", file], { timeoutMs: 120_000 })),
      );
    }
    // The first one looks up all kinds and keeps them.
    return median(runs.slice(1));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
