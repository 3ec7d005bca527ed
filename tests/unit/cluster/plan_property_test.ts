import assert from "node:assert/strict";
import fc from "fast-check";
import type { AddonPlan } from "../../../core/cluster/addon_plan.ts";
import type { JsonValue } from "../../../core/json.ts";
import type { ObjectRef } from "../../../core/ports/k8s.ts";
import {
  addon,
  type AddonWorld,
  chart,
  CLUSTER,
  createAddonWorld,
  installPlatform,
  platform,
  PLATFORM_API,
  template,
  type TemplateParts,
} from "./addon_world.ts";

const NAMES = ["a", "b", "c", "d", "e"];
const RUNS = { numRuns: 150, seed: 5 };

const some = (of: readonly string[], most: number) =>
  fc.uniqueArray(fc.constantFrom(...of), { maxLength: most });

/** Templates that require and exclude each other as they please; some take each other's objects. */
const release = fc.record(Object.fromEntries(NAMES.map((name) => [
  name,
  fc.record({
    requires: some(NAMES, 2),
    conflicts: some(NAMES, 1),
    objects: some([name, `${name}-2`, `${name}-3`, "a"], 3).map((names) =>
      names.map((each) => chart(each))
    ),
  }),
])));

const settings = fc.uniqueArray(
  fc.record({ name: fc.constantFrom(...NAMES), enabled: fc.boolean() }),
  { selector: ({ name }) => name, maxLength: NAMES.length },
).map((list) => list.map(({ name, enabled }) => addon(name, enabled)));

type Catalogue = Record<string, TemplateParts>;

async function settle(world: AddonWorld): Promise<void> {
  // A turn for each add-on to go, and one for each to come.
  for (let turn = 0; turn < 2 * NAMES.length + 2; turn++) await world.turn();
}

function writesOf(plans: readonly AddonPlan[]): number {
  return plans.reduce(
    (sum, { apply, prune, remove }) => sum + apply.length + prune.length + remove.length,
    0,
  );
}

Deno.test("planAddons: carried out, it leaves nothing to do, from whatever was there before", async () => {
  await fc.assert(
    fc.asyncProperty(release, settings, release, settings, async (before, old, after, wanted) => {
      const world = createAddonWorld(before as Catalogue);
      world.addons = old;
      await settle(world);
      world.templates = Object.fromEntries(
        Object.entries(after as Catalogue).map(([name, parts]) => [name, template(name, parts)]),
      );
      world.addons = wanted;
      await settle(world);
      assert.equal(writesOf(await world.plan()), 0);
      const states = await world.turn();
      assert.deepEqual(await world.turn(), states);
      for (const { name, enabled } of wanted) {
        const state = states[name] ?? "";
        if (enabled) assert.doesNotMatch(state, /^removed/);
        // The only reason to keep an add-on that is off is one that is on and requires it.
        else assert.match(state, /^removed|^failed: still required by/);
      }
    }),
    RUNS,
  );
});

Deno.test("planAddons: the order of the input does not matter", async () => {
  await fc.assert(
    fc.asyncProperty(release, settings, settings, fc.gen(), async (catalogue, old, wanted, any) => {
      const world = createAddonWorld(catalogue as Catalogue);
      world.addons = old;
      await settle(world);
      world.addons = wanted;
      const plans = JSON.stringify(await world.plan());
      const shuffled = <T>(list: readonly T[]) =>
        any(() => fc.shuffledSubarray([...list], { minLength: list.length }));
      world.addons = shuffled(wanted);
      world.templates = Object.fromEntries(
        shuffled(Object.entries(world.templates)).map(([name, one]) => [name, {
          ...one,
          requires: shuffled(one.requires ?? []),
          conflicts: shuffled(one.conflicts ?? []),
        }]),
      );
      assert.equal(JSON.stringify(await world.plan()), plans);
    }),
    RUNS,
  );
});

/** Objects as somebody would make them who wants out of what an add-on may. */
const hostileObject = fc.oneof(
  fc.record({
    apiVersion: fc.constantFrom("v1", "apps/v1", "helm.cattle.io/v1", PLATFORM_API, "x.k8s.io/v1"),
    kind: fc.constantFrom(
      "Secret",
      "HelmChart",
      "HelmChartConfig",
      "Platform",
      "Namespace",
      "Node",
    ),
    metadata: fc.record({
      name: fc.constantFrom("x", CLUSTER, "hcloud", "pbx-etcd-s3", "../../nodes/x", "pbx-addon-b"),
      namespace: fc.constantFrom("kube-system", "default", "", "../default"),
      labels: fc.constantFrom<JsonValue[]>({ "pbx.io/addon": "b" }, {}, "x"),
    }, { requiredKeys: ["name"] }),
    spec: fc.jsonValue() as fc.Arbitrary<JsonValue>,
  }),
  fc.constantFrom<JsonValue[]>(chart("fine"), platform(), { $eval: "options" }, { $if: "true" }),
  fc.jsonValue() as fc.Arbitrary<JsonValue>,
);

Deno.test("planAddons: no plan touches what no add-on may have, whatever template and labels say", async () => {
  const path = "/api/v1/namespaces/kube-system/secrets/hcloud";
  await fc.assert(
    fc.asyncProperty(
      fc.array(hostileObject, { maxLength: 4 }),
      fc.boolean(),
      fc.constantFrom("platform" as const, "delete" as const),
      async (objects, enabled, removal) => {
        const world = createAddonWorld({ a: { objects, removal } });
        installPlatform(world);
        const labels = { "pbx.io/managed": "true", "pbx.io/addon": "a" };
        const metadata = { name: "hcloud", labels };
        world.k8s.write(path, { apiVersion: "v1", kind: "Secret", metadata }, "somebody");
        world.addons = [addon("a")];
        await world.turn();
        world.addons = [addon("a", enabled)];
        for (const { apply, prune, remove } of await world.plan(true)) {
          for (const { ref } of [...apply, ...prune, ...remove]) assertAllowed("a", ref);
        }
        world.k8s.forgetRequests();
        await world.turn(true);
        for (const { method, path } of world.k8s.requests()) {
          if (method !== "GET") assert.match(path, ALLOWED_PATH);
        }
        assert.notEqual(world.k8s.read(path), null);
      },
    ),
    { ...RUNS, numRuns: 400 },
  );
});

const ALLOWED_PATH = new RegExp(
  "^/apis/helm\\.cattle\\.io/v1/namespaces/kube-system/helmchart(config)?s/[a-z0-9.-]+$|" +
    "^/api/v1/namespaces/kube-system/secrets/pbx-addon-a$|" +
    `^/apis/${PLATFORM_API}/platforms/${CLUSTER}$`,
);

function assertAllowed(name: string, { apiVersion, resource, namespace, name: object }: ObjectRef) {
  const where = `${apiVersion} ${resource} ${namespace ?? "-"} ${object}`;
  const isHelm = /^helm\.cattle\.io\/v1 helmchart(config)?s kube-system [a-z0-9.-]+$/.test(where);
  const isOwn = where === `v1 secrets kube-system pbx-addon-${name}`;
  assert.ok(isHelm || isOwn || where === `${PLATFORM_API} platforms - ${CLUSTER}`, where);
}
