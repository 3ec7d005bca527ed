import assert from "node:assert/strict";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import { createFakeLog } from "../../../adapters/fake/log.ts";
import { definition } from "../../../adapters/fake/kube_seed.ts";
import { createNodeClock } from "../../../adapters/node/clock.ts";
import { createNodeK8s, type NodeK8s } from "../../../adapters/node/k8s.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { ObjectRef } from "../../../core/ports/k8s.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { AddonWitness } from "../../lab/addon_witness.ts";
import { waitUntil } from "../../lab/wait_until.ts";
import {
  type AddonCluster,
  planWith,
  PLATFORM_API,
  templatesOf,
  turnWith,
} from "../../unit/cluster/addon_world.ts";

const KUBECONFIG = "/etc/rancher/k3s/k3s.yaml";

/** A client like the agent's: `version` tells it in the audit log, `fieldManager` in managedFields. */
export async function connect(
  kubeconfig: string,
  { clock = createNodeClock(), version = "1.2.3", ...manager }: {
    readonly clock?: Clock;
    readonly version?: string;
    readonly fieldManager?: string;
  } = {},
): Promise<NodeK8s> {
  const disk = createFakeDisk();
  disk.put(KUBECONFIG, await Deno.readTextFile(kubeconfig));
  return createNodeK8s({ disk, clock, version, ...manager });
}

/** The agent's hands in a real cluster; what they did is told by the witness where there is one. */
export function createRealCluster(k8s: NodeK8s, witness?: AddonWitness): AddonCluster {
  const cluster: AddonCluster = {
    k8s,
    disk: createFakeDisk(),
    log: createFakeLog(),
    templates: templatesOf({}),
    addons: [],
    leads: true,
    plan: (again) => planWith(cluster, again),
    turn: (again) => turnWith(cluster, again),
    objects: () => witness?.objects() ?? Promise.resolve([]),
  };
  return cluster;
}

const SOON = { timeoutMs: 30_000 };

/** Where everything is that an add-on may have. */
const PLACES = [
  { apiVersion: "helm.cattle.io/v1", resource: "helmcharts", namespace: "kube-system" },
  { apiVersion: "helm.cattle.io/v1", resource: "helmchartconfigs", namespace: "kube-system" },
  { apiVersion: "v1", resource: "secrets", namespace: "kube-system" },
  { apiVersion: PLATFORM_API, resource: "platforms" },
] as const;

/** Removes everything of add-ons, and waits until it is gone. */
export async function clear(k8s: NodeK8s): Promise<void> {
  await waitUntil("a cluster without add-ons", async () => {
    let left = 0;
    for (const place of PLACES) {
      const listed = await k8s.list(place);
      for (const { metadata } of (listed.ok ? listed.value : null) ?? []) {
        const { name } = metadata as { readonly name: string };
        left++;
        await k8s.remove({ ...place, name });
      }
    }
    return left === 0 || undefined;
  }, SOON);
}

/** A field of any content. */
const ANYTHING = { "x-kubernetes-preserve-unknown-fields": true };
const TEXT = { type: "string" };

/** The kinds of k3s's helm-controller, as strict about unknown fields as they really are. */
export async function installHelmKinds(k8s: NodeK8s): Promise<void> {
  const spec = {
    type: "object",
    properties: {
      chart: TEXT,
      repo: TEXT,
      version: TEXT,
      targetNamespace: TEXT,
      valuesContent: TEXT,
      values: { type: "object", nullable: true, ...ANYTHING },
      failurePolicy: { ...TEXT, default: "reinstall" },
      backOffLimit: { type: "integer" },
      timeout: TEXT,
    },
  };
  await define(k8s, "helm.cattle.io", "HelmChart", "helmcharts", "Namespaced", "v1", spec);
  await define(
    k8s,
    "helm.cattle.io",
    "HelmChartConfig",
    "helmchartconfigs",
    "Namespaced",
    "v1",
    spec,
  );
}

/** The kinds that the tests' Platform brings. */
export async function installPlatformKinds(k8s: NodeK8s): Promise<void> {
  const [group = "", version = ""] = PLATFORM_API.split("/");
  const spec = { type: "object", ...ANYTHING };
  await define(k8s, group, "Platform", "platforms", "Cluster", version, spec);
  const apps = "apps.example.com";
  await define(k8s, apps, "SaaSApplication", "saasapplications", "Namespaced", "v1beta1", spec);
}

async function define(
  k8s: NodeK8s,
  group: string,
  kind: string,
  plural: string,
  scope: "Namespaced" | "Cluster",
  version: string,
  spec: JsonObject,
): Promise<void> {
  const { status: _status, ...whole } = definition(group, kind, plural, scope, version);
  const properties = { spec, status: { type: "object", ...ANYTHING } };
  const versions = [{
    name: version,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: "object", properties } },
    subresources: { status: {} },
  }];
  const ref: ObjectRef = {
    apiVersion: "apiextensions.k8s.io/v1",
    resource: "customresourcedefinitions",
    name: `${plural}.${group}`,
  };
  const applied = await k8s.apply(ref, {
    ...whole,
    spec: { ...whole["spec"] as JsonObject, versions },
  });
  assert.ok(applied.ok, JSON.stringify(applied));
  await waitUntil(`the kind ${kind}`, async () => {
    const listed = await k8s.list({ apiVersion: `${group}/${version}`, resource: plural });
    return (listed.ok && listed.value !== null) || undefined;
  }, SOON);
}
