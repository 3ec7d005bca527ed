import assert from "node:assert/strict";
import type { AddonSetting } from "../../../core/protocol/desired_state.ts";
import {
  addon,
  type AddonCluster,
  chart,
  template,
  type TemplateParts,
  templatesOf,
} from "./addon_world.ts";

/** A row of the table of operations.md (Add-ons): what is there, and the states that are told. */
export interface StateRow {
  readonly what: string;
  readonly templates: Record<string, TemplateParts>;
  /** What the desired state named before, if that was another; carried out. */
  readonly before?: readonly AddonSetting[];
  /** What happens then. */
  readonly then?: (cluster: AddonCluster) => unknown;
  readonly addons: readonly AddonSetting[];
  readonly states: Record<string, RegExp | string>;
  /** What the agent keeps in the cluster after the turn. */
  readonly objects: readonly string[];
}

/** Brings a cluster that has no add-ons into the row's case, takes the turn, and looks. */
export async function assertRow(cluster: AddonCluster, row: StateRow): Promise<void> {
  cluster.templates = templatesOf(row.templates);
  if (row.before !== undefined) {
    cluster.addons = [...row.before];
    await cluster.turn();
  }
  cluster.addons = [...row.addons];
  await row.then?.(cluster);
  const told = await cluster.turn();
  for (const [name, wanted] of Object.entries(row.states)) {
    if (typeof wanted === "string") assert.equal(told[name], wanted);
    else assert.match(told[name] ?? "", wanted);
  }
  assert.deepEqual(await cluster.objects(), row.objects);
}

const NEVER_READY = { health: [{ deployment: { namespace: "kube-system", name: "never" } }] };

const KEY_SECRET = {
  apiVersion: "v1",
  resource: "secrets",
  namespace: "kube-system",
  name: "pbx-addon-a",
};

/** All rows of the table. */
export const STATE_ROWS: readonly StateRow[] = [
  {
    what: "a required add-on is off",
    templates: { a: { requires: ["b"] }, b: {} },
    addons: [addon("a"), addon("b", false)],
    states: {
      a: "failed: requires add-on b, which is off",
      b: "failed: still required by a",
    },
    objects: [],
  },
  {
    what: "a required add-on is not named",
    templates: { a: { requires: ["b"] }, b: {} },
    addons: [addon("a")],
    states: { a: "failed: requires add-on b, which is off" },
    objects: [],
  },
  {
    what: "a conflicting add-on is on and installed",
    templates: { a: {}, b: { conflicts: ["a"] } },
    before: [addon("b")],
    addons: [addon("a"), addon("b")],
    states: { a: "failed: conflicts with add-on b; switch that off first" },
    objects: ["helmcharts/b"],
  },
  {
    what: "two that conflict are switched on at once: one comes, the other says why not",
    templates: { a: {}, b: { conflicts: ["a"] } },
    addons: [addon("b"), addon("a")],
    states: { a: "applied", b: "failed: conflicts with add-on a; switch that off first" },
    objects: ["helmcharts/a"],
  },
  {
    what: "a conflicting add-on is off, and its objects still exist",
    templates: { a: {}, b: { conflicts: ["a"] } },
    before: [addon("a")],
    addons: [addon("a", false), addon("b")],
    states: {
      a: "pending: is being removed",
      b: "pending: waits until the objects of add-on a are gone",
    },
    objects: [],
  },
  {
    what: "a required add-on is not applied yet",
    templates: { a: { requires: ["b"] }, b: NEVER_READY },
    addons: [addon("a"), addon("b")],
    states: { a: "pending: waits for add-on b", b: /^pending: Deployment .* is not there yet/ },
    objects: ["helmcharts/b"],
  },
  {
    what: "a health check that does not pass yet",
    templates: { a: NEVER_READY },
    addons: [addon("a")],
    states: { a: "pending: Deployment kube-system/never is not there yet" },
    objects: ["helmcharts/a"],
  },
  {
    what: "no health check",
    templates: { a: {} },
    addons: [addon("a")],
    states: { a: "applied" },
    objects: ["helmcharts/a"],
  },
  {
    what: "switched off while one that requires it is on",
    templates: { a: {}, b: { requires: ["a"] } },
    before: [addon("a"), addon("b")],
    addons: [addon("a", false), addon("b")],
    states: { a: "failed: still required by b", b: "failed: requires add-on a, which is off" },
    objects: ["helmcharts/a", "helmcharts/b"],
  },
  {
    what: "switched off: its objects go",
    templates: { a: {}, b: {} },
    before: [addon("a"), addon("b")],
    addons: [addon("a", false), addon("b")],
    states: { a: "pending: is being removed", b: "applied" },
    objects: ["helmcharts/b"],
  },
  {
    what: "switched off, and its objects are gone",
    templates: { a: {} },
    before: [addon("a")],
    then: (cluster) => cluster.turn(),
    addons: [addon("a", false)],
    states: { a: "removed" },
    objects: [],
  },
  {
    what: "switched off and never there",
    templates: { a: {} },
    addons: [addon("a", false)],
    states: { a: "removed" },
    objects: [],
  },
  {
    what: "its template fails: it keeps what it has",
    templates: { a: {} },
    before: [addon("a")],
    then(cluster) {
      cluster.templates["a"] = template("a", { objects: [{ $eval: "nobody" }] });
    },
    addons: [addon("a")],
    states: { a: /^failed: the template does not render: \w+ at / },
    objects: ["helmcharts/a"],
  },
  {
    what: "its apply fails: it keeps what it has, and nothing is pruned",
    templates: { a: {} },
    before: [addon("a")],
    async then(cluster) {
      // The type of a Secret that is there cannot be changed.
      const { name, namespace } = KEY_SECRET;
      const secret = { apiVersion: "v1", kind: "Secret", type: "other" };
      const made = await cluster.k8s.create(KEY_SECRET, {
        ...secret,
        metadata: { name, namespace },
      });
      assert.ok(made.ok, JSON.stringify(made));
      cluster.templates["a"] = template("a", {
        objects: [chart("renamed")],
        options: { password: { type: "string", secret: true } },
        secret_data: { key: "password" },
      });
    },
    addons: [{ ...addon("a"), secret_options: { password: { sealed: "x" } } }],
    states: { a: /^failed: secrets\/pbx-addon-a: .*422/ },
    objects: ["helmcharts/a"],
  },
  {
    what: "the release has no such add-on",
    templates: {},
    addons: [addon("a")],
    states: { a: "failed: release 1.0.0 has no such add-on" },
    objects: [],
  },
  {
    what: "a cycle of requirements, and one that requires it",
    templates: {
      a: { requires: ["b"] },
      b: { requires: ["c"] },
      c: { requires: ["a"] },
      d: { requires: ["a"] },
      e: { requires: ["e"] },
    },
    addons: ["a", "b", "c", "d", "e"].map((name) => addon(name)),
    states: {
      a: "failed: requires itself through a → b → c → a",
      b: "failed: requires itself through b → c → a → b",
      c: "failed: requires itself through c → a → b → c",
      d: "pending: waits for add-on a",
      e: "failed: requires itself through e → e",
    },
    objects: [],
  },
];
