import assert from "node:assert/strict";
import { createFakeDisk, type FakeDisk } from "../../../adapters/fake/disk.ts";
import { createFakeK8s, type FakeK8s } from "../../../adapters/fake/k8s.ts";
import { createFakeLog, type FakeLog } from "../../../adapters/fake/log.ts";
import { definition } from "../../../adapters/fake/kube_seed.ts";
import type { AddonPlan } from "../../../core/cluster/addon_plan.ts";
import { carryOut } from "../../../core/cluster/carry_out.ts";
import { lookAndPlan } from "../../../core/cluster/look_and_plan.ts";
import { renderAddon } from "../../../core/cluster/render.ts";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import type { AddonSetting } from "../../../core/protocol/desired_state.ts";
import type { K8s } from "../../../core/ports/k8s.ts";
import { AddonTemplate, Release } from "../../../core/protocol/release.ts";
import { Secret } from "../../../core/secret.ts";

/** The cluster that the tests' add-ons are for. */
export const CLUSTER = "demo";
/** An apiVersion for the tests' Platform. */
export const PLATFORM_API = "platform.example.com/v1alpha1";

/** A HelmChart as a template holds it. */
export function chart(name: string, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: "helm.cattle.io/v1",
    kind: "HelmChart",
    metadata: { name },
    spec: { chart: name, targetNamespace: "kube-system", ...spec },
  };
}

/** The Platform as a template holds it. */
export function platform(spec: JsonObject = { components: ["all"] }): JsonObject {
  return { apiVersion: PLATFORM_API, kind: "Platform", metadata: { name: CLUSTER }, spec };
}

/** What tests say of a template. */
export type TemplateParts = Partial<Omit<AddonTemplate, "objects">> & {
  readonly objects?: JsonValue;
};

/** A template with one chart of the add-on's name, or with what is told. */
export function template(name: string, rest: TemplateParts = {}): AddonTemplate {
  return AddonTemplate.parse({ options: {}, objects: [chart(name)], ...rest });
}

/** An add-on of the desired state. */
export function addon(
  name: string,
  enabled = true,
  options: Record<string, JsonValue> = {},
): AddonSetting {
  return { name, enabled, options: options as AddonSetting["options"] };
}

/** The agent's hands in a cluster, and what it is to do there. */
export interface AddonHands {
  readonly k8s: K8s;
  readonly disk: FakeDisk;
  readonly log: FakeLog;
  /** What the release holds; tests change it. */
  templates: Record<string, AddonTemplate>;
  /** What the desired state names; tests change it. */
  addons: AddonSetting[];
  leads: boolean;
}

/** The hands, and a look at what they did. */
export interface AddonCluster extends AddonHands {
  plan(again?: boolean): Promise<readonly AddonPlan[]>;
  /** Looks, plans and carries out; the states by name, `failed: <message>` where there is one. */
  turn(again?: boolean): Promise<Record<string, string>>;
  /** `<resource>/<name>` of everything in the cluster that has the agent's label, sorted. */
  objects(): Promise<string[]>;
}

/** A cluster of fakes. */
export interface AddonWorld extends AddonCluster {
  readonly k8s: FakeK8s;
}

/** The plan of the next turn. */
export async function planWith(hands: AddonHands, again = false): Promise<readonly AddonPlan[]> {
  const { k8s, addons, templates } = hands;
  const parts = { addons, release: releaseOf(templates), rendered: render(hands), again };
  const planned = await lookAndPlan(k8s, parts);
  if (!planned.ok) throw new Error(planned.error);
  return planned.value;
}

/** One turn; see {@link AddonCluster}. */
export async function turnWith(
  hands: AddonHands,
  again = false,
): Promise<Record<string, string>> {
  const { k8s, disk, log, templates } = hands;
  const does = { k8s, disk, log, templates, stillLeads: () => hands.leads };
  const reports = await carryOut(does, await planWith(hands, again));
  assert.ok(reports !== null, "leads no longer");
  return Object.fromEntries(reports.map(({ name, state, message }) => [
    name,
    message === undefined ? state : `${state}: ${message}`,
  ]));
}

/** Templates by name from what tests say of them. */
export function templatesOf(
  parts: Record<string, TemplateParts>,
): Record<string, AddonTemplate> {
  return Object.fromEntries(
    Object.entries(parts).map(([name, rest]) => [name, template(name, rest)]),
  );
}

/** A cluster with k3s's kinds, where the named add-ons are in the release. */
export function createAddonWorld(
  templates: Record<string, TemplateParts> = {},
  { definitions = true } = {},
): AddonWorld {
  const k8s = createFakeK8s();
  if (definitions) k8s.installK3sDefinitions();
  k8s.forgetRequests();
  const world: AddonWorld = {
    k8s,
    disk: createFakeDisk(),
    log: createFakeLog(),
    templates: templatesOf(templates),
    addons: [],
    leads: true,
    plan: (again) => planWith(world, again),
    turn: (again) => turnWith(world, again),
    async objects() {
      const names: string[] = [];
      for (const ref of LISTED) {
        const listed = await k8s.list(ref, { "pbx.io/managed": "true" });
        if (!listed.ok) throw new Error(listed.error.message);
        for (const { metadata } of listed.value ?? []) {
          names.push(`${ref.resource}/${(metadata as { readonly name: string }).name}`);
        }
      }
      return names.sort();
    },
  };
  return world;
}

/** Makes the kinds of the Platform known, as its chart would. */
export function installPlatform({ k8s }: AddonWorld): void {
  const group = PLATFORM_API.split("/")[0] ?? "";
  const apps = "apps.example.com";
  for (
    const crd of [
      definition(group, "Platform", "platforms", "Cluster", "v1alpha1"),
      definition(apps, "SaaSApplication", "saasapplications", "Namespaced", "v1beta1"),
    ]
  ) {
    const { name } = crd["metadata"] as { readonly name: string };
    k8s.write(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`, crd, "helm");
  }
}

/** The path of a HelmChart. */
export function chartPath(name: string): string {
  return `/apis/helm.cattle.io/v1/namespaces/kube-system/helmcharts/${name}`;
}

/** The secret options of every add-on of the tests. */
export const SECRETS: ReadonlyMap<string, Secret> = new Map([
  ["password", new Secret("hunter2-the-secret")],
]);

const LISTED = [
  { apiVersion: "helm.cattle.io/v1", resource: "helmcharts" },
  { apiVersion: "helm.cattle.io/v1", resource: "helmchartconfigs" },
  { apiVersion: "v1", resource: "secrets" },
  { apiVersion: PLATFORM_API, resource: "platforms" },
];

function render({ addons, templates }: AddonHands) {
  const world = {
    clusterId: CLUSTER,
    nodeName: "demo-1",
    releasedAt: "2026-01-01T00:00:00Z",
  };
  return new Map(addons.flatMap((one) => {
    const found = templates[one.name];
    if (!one.enabled || found === undefined) return [];
    return [[one.name, renderAddon(one, found, world, SECRETS)] as const];
  }));
}

function releaseOf(addons: Record<string, AddonTemplate>): Release {
  return Release.parse({
    version: "1.0.0",
    created_at: "2026-01-01T00:00:00Z",
    agent: { version: "1.0.0", artifacts: {} },
    image: { k3s_version: "v1.36.3+k3s1", artifacts: {} },
    addons,
  });
}
