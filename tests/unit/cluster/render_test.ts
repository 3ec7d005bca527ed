import assert from "node:assert/strict";
import { renderAddon } from "../../../core/cluster/render.ts";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import {
  addon,
  chart,
  CLUSTER,
  platform,
  PLATFORM_API,
  SECRETS,
  template,
  type TemplateParts,
} from "./addon_world.ts";

const WORLD = { clusterId: CLUSTER, nodeName: "demo-1", releasedAt: "2026-01-01T00:00:00Z" };

function render(parts: TemplateParts, options: Record<string, JsonValue> = {}) {
  return renderAddon(addon("one", true, options), template("one", parts), WORLD, SECRETS);
}

function objects(parts: TemplateParts, options?: Record<string, JsonValue>) {
  const rendered = render(parts, options);
  assert.ok(rendered.ok, JSON.stringify(rendered));
  return rendered.value;
}

function refused(parts: TemplateParts, options?: Record<string, JsonValue>): string {
  const rendered = render(parts, options);
  assert.ok(!rendered.ok, JSON.stringify(rendered));
  return rendered.error;
}

Deno.test("renderAddon: a HelmChart gets its place, its labels and the defaults of one", () => {
  const [only, ...more] = objects({ objects: [chart("web")] });
  assert.equal(more.length, 0);
  assert.deepEqual(only, {
    ref: {
      apiVersion: "helm.cattle.io/v1",
      resource: "helmcharts",
      namespace: "kube-system",
      name: "web",
    },
    object: {
      apiVersion: "helm.cattle.io/v1",
      kind: "HelmChart",
      metadata: {
        name: "web",
        namespace: "kube-system",
        labels: { "pbx.io/managed": "true", "pbx.io/addon": "one" },
      },
      spec: {
        failurePolicy: "abort",
        backOffLimit: 3,
        chart: "web",
        targetNamespace: "kube-system",
      },
    },
  });
});

Deno.test("renderAddon: what the template sets of a HelmChart stays, its labels cannot lie", () => {
  const own = {
    ...chart("web", { failurePolicy: "retry", backOffLimit: 9 }),
    metadata: {
      name: "web",
      labels: { tier: "front", "pbx.io/addon": "other", "pbx.io/managed": "no" },
      annotations: { note: "kept" },
      finalizers: ["never.example.com/go"],
      ownerReferences: [{ name: "somebody" }],
    },
    status: { jobName: "made up" },
  };
  const { object } = objects({ objects: [own] })[0] ?? {};
  assert.deepEqual(object?.["metadata"], {
    name: "web",
    namespace: "kube-system",
    annotations: { note: "kept" },
    labels: { tier: "front", "pbx.io/managed": "true", "pbx.io/addon": "one" },
  });
  const spec = object?.["spec"] as JsonObject;
  assert.deepEqual([spec["failurePolicy"], spec["backOffLimit"]], ["retry", 9]);
  assert.equal(object?.["status"], undefined);
});

Deno.test("renderAddon: options, cluster and node are in the context; an option stays a value", () => {
  const sly = '", "kind": "Secret", "x": "${cluster.name}';
  const made = objects({
    options: { text: { type: "string" }, size: { type: "number", default: 2 } },
    objects: [chart("web", {
      values: {
        text: { $eval: "options.text" },
        size: { $eval: "options.size" },
        cluster: "${cluster.name}",
        node: "${node.name}",
      },
    })],
  }, { text: sly });
  const { values } = made[0]?.object["spec"] as { readonly values: JsonObject };
  assert.deepEqual(values, { text: sly, size: 2, cluster: CLUSTER, node: "demo-1" });
});

Deno.test("renderAddon: secret options reach the add-on's own Secret and nothing else", () => {
  const setting = { ...addon("one"), secret_options: { password: { sealed: "box" } } };
  const parts = {
    options: { password: { type: "string" as const, secret: true, required: true } },
    secret_data: { "the-key": "password" },
  };
  const rendered = renderAddon(setting, template("one", parts), WORLD, SECRETS);
  assert.ok(rendered.ok);
  const [secret, ...rest] = rendered.value;
  assert.deepEqual(secret?.ref, {
    apiVersion: "v1",
    resource: "secrets",
    namespace: "kube-system",
    name: "pbx-addon-one",
  });
  assert.deepEqual(secret?.object["data"], { "the-key": btoa("hunter2-the-secret") });
  assert.doesNotMatch(JSON.stringify(rest), /hunter2|aHVudGVyMi/);
  for (const reach of ["options.password", "secrets", "options['password']", "options"]) {
    const spying = template("one", { ...parts, objects: [chart("x", { v: { $eval: reach } })] });
    const spied = renderAddon(setting, spying, WORLD, SECRETS);
    assert.doesNotMatch(JSON.stringify(spied.ok ? spied.value.slice(1) : spied), /hunter2|aHVudG/);
  }
});

Deno.test("renderAddon: secret_data takes from secret options alone", () => {
  const options = { plain: { type: "string" as const, default: "x" } };
  for (const source of ["plain", "none", "constructor"]) {
    assert.match(refused({ options, secret_data: { key: source } }), /is no secret option/);
  }
});

const REFUSED: Record<string, { readonly objects: JsonValue; readonly why: RegExp }> = {
  "a Secret": { objects: [kind("v1", "Secret")], why: /made a Secret \(v1\), which no add-on may/ },
  "the cluster's own Secret": { objects: [kind("v1", "Secret", "hcloud")], why: /no add-on may/ },
  "a Deployment": { objects: [kind("apps/v1", "Deployment")], why: /no add-on may/ },
  "a ClusterRoleBinding": {
    objects: [kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")],
    why: /no add-on may/,
  },
  "a HelmChart of another version": {
    objects: [kind("helm.cattle.io/v2", "HelmChart")],
    why: /no add-on may/,
  },
  "a kind that every object has": { objects: [kind("helm.cattle.io/v1", "toString")], why: /may/ },
  "a Platform, where it is not the Platform": { objects: [platform()], why: /no add-on may/ },
  "another namespace": {
    objects: [{ ...chart("x"), metadata: { name: "x", namespace: "default" } }],
    why: /HelmChart x is not in kube-system/,
  },
  "a name with a path in it": { objects: [chart("../secrets/hcloud")], why: /proper name/ },
  "a name with capitals": { objects: [chart("Web")], why: /proper name/ },
  "no name": { objects: [{ ...chart("x"), metadata: { generateName: "x-" } }], why: /proper name/ },
  "a name that is too long": { objects: [chart("a".repeat(254))], why: /proper name/ },
  "the same twice": { objects: [chart("x"), chart("x")], why: /made helmcharts\/x twice/ },
  "no list": { objects: chart("x"), why: /made no list/ },
  "a text": { objects: "x", why: /made no list/ },
  "a list of lists": { objects: [[chart("x")]], why: /that is no object/ },
  "an object without kind": { objects: [{ metadata: { name: "x" } }], why: /without apiVersion/ },
  "more objects than 100": {
    objects: { $map: { $eval: "range(0, 101)" }, "each(i)": chart("x-${i}") },
    why: /more than 100 objects/,
  },
  "more bytes than it may": {
    objects: [chart("x", { values: { big: "x".repeat(300_000) } })],
    why: /more than 262144 bytes/,
  },
  "a list that is counted up without end": {
    objects: { $map: { $eval: "range(0, 1000000000)" }, "each(i)": chart("x-${i}") },
    why: /does not render: \w+/,
  },
  "a name that nobody gave": { objects: [{ $eval: "process" }], why: /does not render: \w+ at / },
  "the way to the machine by a prototype": {
    objects: [{ $eval: "options.constructor.constructor" }],
    why: /does not render/,
  },
  "a function as value": { objects: [{ $eval: "range" }], why: /does not render|no object/ },
};

for (const [what, { objects: made, why }] of Object.entries(REFUSED)) {
  Deno.test(`renderAddon: refuses ${what}`, () => {
    assert.match(refused({ objects: made }), why);
  });
}

Deno.test("renderAddon: the fault's text does not quote what an option holds", () => {
  const parts = {
    options: { text: { type: "string" as const } },
    objects: [chart("x", { v: { $eval: "options.text + 1" } })],
  };
  assert.doesNotMatch(refused(parts, { text: "private-words" }), /private-words/);
});

Deno.test("renderAddon: the same input gives the same, whatever the time is", () => {
  const parts = { objects: [chart("x", { at: { $eval: "now" }, then: { $fromNow: "1 day" } })] };
  assert.deepEqual(objects(parts), objects(parts));
  const spec = objects(parts)[0]?.object["spec"] as JsonObject;
  assert.equal(spec["at"], WORLD.releasedAt);
  assert.match(String(spec["then"]), /^2026-01-02T00:00:00/);
  const called = { objects: [chart("x", { then: { $eval: "fromNow('1 day')" } })] };
  const then = objects(called)[0]?.object["spec"] as JsonObject;
  assert.match(String(then["then"]), /^2026-01-02T00:00:00/);
});

Deno.test("renderAddon: keys that reach a prototype stay keys", () => {
  const odd = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"x": 1}}');
  const made = objects({ objects: [chart("x", { values: odd })] });
  assert.equal((({}) as Record<string, unknown>)["polluted"], undefined);
  const { values } = made[0]?.object["spec"] as { readonly values: JsonObject };
  assert.equal(Object.getPrototypeOf(values), Object.prototype);
  assert.deepEqual(values["constructor"], { x: 1 });
});

Deno.test("renderAddon: the Platform, for the add-on that is it, by the cluster's name alone", () => {
  const parts = { removal: "platform" as const };
  const [made] = objects({ ...parts, objects: [platform()] });
  assert.deepEqual(made?.ref, { apiVersion: PLATFORM_API, resource: "platforms", name: CLUSTER });
  const other = { ...platform(), metadata: { name: "other" } };
  assert.match(refused({ ...parts, objects: [other] }), /must be named demo/);
  const placed = { ...platform(), metadata: { name: CLUSTER, namespace: "kube-system" } };
  assert.match(refused({ ...parts, objects: [placed] }), /in no namespace/);
  for (const apiVersion of ["v1", "apps/v1", "x.k8s.io/v1", "helm.cattle.io/v1", "nodots/v1"]) {
    assert.match(refused({ ...parts, objects: [{ ...platform(), apiVersion }] }), /no add-on may/);
  }
  // Two versions: only the one that stands first can be found again later.
  const computed = { ...platform(), apiVersion: { $eval: "'later.example.com/v1'" } };
  assert.match(refused({ ...parts, objects: [computed] }), /no add-on may/);
});

function kind(apiVersion: string, name: string, object = "x"): JsonObject {
  return { apiVersion, kind: name, metadata: { name: object } };
}

Deno.test("renderAddon: a template that makes a number that nobody keeps fails", () => {
  const product: TemplateParts = {
    options: { a: { type: "number" }, b: { type: "number" } },
    objects: [chart("web", { set: { $eval: "options.a * options.b" } })],
  };
  const limit = Number.MAX_SAFE_INTEGER;
  assert.ok(render(product, { a: limit, b: -1 }).ok);
  for (const [a, b] of [[limit, 3], [limit, limit], [-1e15, 10], [1024.5, 2 ** 52]] as const) {
    assert.match(refused(product, { a, b }), /the template's .*spec\.set: is an integer beyond/);
  }
});
