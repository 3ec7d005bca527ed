import assert from "node:assert/strict";
import { carryOut } from "../../../core/cluster/carry_out.ts";
import { skipPath } from "../../../core/host/manifests.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { K8s } from "../../../core/ports/k8s.ts";
import { fail } from "../../../core/result.ts";
import {
  addon,
  type AddonWorld,
  chart,
  chartPath,
  createAddonWorld,
  template,
} from "./addon_world.ts";

const HELM = "helm.cattle.io/v1";

function onlyA(): AddonWorld {
  const world = createAddonWorld({ a: {} });
  world.addons = [addon("a")];
  return world;
}

function chartObject(name: string, rest: Record<string, unknown> = {}) {
  const metadata = { name, namespace: "kube-system", ...(rest["metadata"] as object | undefined) };
  return { apiVersion: HELM, kind: "HelmChart", ...rest, metadata } as Parameters<
    AddonWorld["k8s"]["write"]
  >[1];
}

Deno.test("carryOut: nothing is written when nothing differs, everything when it is time again", async () => {
  const world = onlyA();
  await world.turn();
  world.k8s.forgetRequests();
  for (let i = 0; i < 10; i++) assert.deepEqual(await world.turn(), { a: "applied" });
  assert.equal(world.k8s.writes(), 0);
  await world.turn(true);
  assert.equal(world.k8s.writes(), 1);
});

Deno.test("carryOut: while a health check does not pass, every turn applies", async () => {
  const world = createAddonWorld({ a: { health: [{ helmchart: { name: "a" } }] } });
  world.addons = [addon("a")];
  for (let turns = 1; turns <= 3; turns++) {
    assert.deepEqual(await world.turn(), { a: "pending: chart a is being installed" });
    assert.equal(world.k8s.writes(), turns);
  }
});

Deno.test("carryOut: a change by hand is overwritten, what nobody templates stays", async () => {
  const world = onlyA();
  await world.turn();
  const spec = { chart: "other", timeout: "5m" };
  world.k8s.write(chartPath("a"), chartObject("a", { spec }), "kubectl");
  await world.turn();
  const live = world.k8s.read(chartPath("a"))?.["spec"] as Record<string, unknown>;
  assert.deepEqual([live["chart"], live["timeout"]], ["a", "5m"]);
});

Deno.test("carryOut: a field that a new template no longer sets goes at once", async () => {
  const world = createAddonWorld({ a: { objects: [chart("a", { timeout: "5m" })] } });
  world.addons = [addon("a")];
  await world.turn();
  world.templates["a"] = template("a");
  await world.turn();
  const live = world.k8s.read(chartPath("a"))?.["spec"] as Record<string, unknown>;
  assert.equal(live["timeout"], undefined);
  world.k8s.forgetRequests();
  await world.turn();
  assert.equal(world.k8s.writes(), 0);
});

Deno.test("carryOut: a map whose fields all go becomes empty, not null", async () => {
  const values = (values: JsonObject) => template("a", { objects: [chart("a", { values })] });
  const world = createAddonWorld();
  world.addons = [addon("a")];
  const turns: JsonObject[] = [
    { a: { b: 1 }, c: 1 },
    { a: {}, c: 1 },
    { a: {} },
    { a: { b: { d: 1 } } },
    { a: { b: {} } },
    { x: 1 },
    {},
  ];
  for (const wanted of turns) {
    world.templates["a"] = values(wanted);
    await world.turn();
    const live = world.k8s.read(chartPath("a"))?.["spec"] as Record<string, unknown>;
    assert.deepEqual(live["values"], wanted);
    world.k8s.forgetRequests();
    await world.turn();
    assert.equal(world.k8s.writes(), 0);
  }
});

Deno.test("carryOut: what a new template no longer has is pruned after the rest is applied", async () => {
  const world = onlyA();
  await world.turn();
  world.templates["a"] = template("a", { objects: [chart("b"), chart("c")] });
  world.k8s.forgetRequests();
  await world.turn();
  const writes = world.k8s.requests().filter(({ method }) => method !== "GET");
  assert.deepEqual(writes.map(({ method, path }) => [method, path]), [
    ["PATCH", chartPath("b")],
    ["PATCH", chartPath("c")],
    ["DELETE", chartPath("a")],
  ]);
});

Deno.test("carryOut: a chart that is stuck in deletion is told, and its finalizers stay", async () => {
  const world = onlyA();
  await world.turn();
  const finalizers = ["wrangler.cattle.io/on-helm-chart-remove"];
  world.k8s.write(chartPath("a"), chartObject("a", { metadata: { finalizers } }), "helm");
  world.addons = [addon("a", false)];
  await world.turn();
  const stuck = "pending: helmcharts/a is being deleted and waits for its finalizers";
  world.k8s.forgetRequests();
  assert.deepEqual(await world.turn(), { a: stuck });
  world.addons = [addon("a")];
  assert.deepEqual(await world.turn(), { a: stuck });
  assert.equal(world.k8s.writes(), 0);
  const metadata = world.k8s.read(chartPath("a"))?.["metadata"] as Record<string, unknown>;
  assert.deepEqual(metadata["finalizers"], finalizers);
});

Deno.test("carryOut: kinds that do not exist yet are waited for", async () => {
  const world = createAddonWorld({ a: {} }, { definitions: false });
  world.addons = [addon("a")];
  assert.deepEqual(await world.turn(), { a: "pending: the cluster does not know helmcharts yet" });
  world.k8s.installK3sDefinitions();
  assert.deepEqual(await world.turn(), { a: "applied" });
});

Deno.test("carryOut: a Secret of the cluster is never removed, whatever its labels say", async () => {
  const world = onlyA();
  const path = "/api/v1/namespaces/kube-system/secrets/hcloud";
  const labels = { "pbx.io/managed": "true", "pbx.io/addon": "a" };
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "hcloud", labels } };
  world.k8s.write(path, secret, "somebody");
  await world.turn();
  world.addons = [addon("a", false)];
  await world.turn();
  assert.deepEqual(await world.turn(), { a: "removed" });
  assert.notEqual(world.k8s.read(path), null);
});

Deno.test("carryOut: the first-start manifest is taken over before the first apply", async () => {
  const world = createAddonWorld({ a: { manifest: "ccm" } });
  world.addons = [addon("a", false)];
  await world.turn();
  assert.equal(world.disk.text(skipPath("ccm")), null);
  world.addons = [addon("a")];
  const order: string[] = [];
  const k8s: K8s = {
    ...world.k8s,
    apply(ref, object) {
      order.push(world.disk.text(skipPath("ccm")) === null ? "applied first" : "skipped first");
      return world.k8s.apply(ref, object);
    },
  };
  const hands = { ...world, k8s, stillLeads: () => true };
  assert.deepEqual(await carryOut(hands, await world.plan()), [{ name: "a", state: "applied" }]);
  assert.deepEqual(order, ["skipped first"]);
  const file = await world.disk.stat(skipPath("ccm"));
  assert.equal(file.ok && file.value?.mode, 0o600);
});

Deno.test("carryOut: the manifest of an add-on that is removed is taken over before anything goes", async () => {
  const world = createAddonWorld({ a: { manifest: "ccm" } });
  const labels = { "pbx.io/managed": "true", "pbx.io/addon": "a" };
  world.k8s.write(chartPath("a"), chartObject("a", { metadata: { labels } }), "deploy@node");
  world.addons = [addon("a", false)];
  let wasTaken = false;
  const k8s: K8s = {
    ...world.k8s,
    remove(...call) {
      wasTaken = world.disk.text(skipPath("ccm")) !== null;
      return world.k8s.remove(...call);
    },
  };
  await carryOut({ ...world, k8s, stillLeads: () => true }, await world.plan());
  assert.ok(wasTaken, "k3s would bring it back at its next start");
  assert.deepEqual(await world.turn(), { a: "removed" });
});

Deno.test("carryOut: an add-on whose requirement failed to apply waits, others go on", async () => {
  const world = createAddonWorld({ a: {}, b: { requires: ["a"] }, c: {} });
  world.addons = [addon("a"), addon("b"), addon("c")];
  const k8s: K8s = {
    ...world.k8s,
    apply: (ref, object) =>
      ref.name === "a"
        ? Promise.resolve(
          fail({ code: "refused", status: 422, reason: "Invalid", message: "422: no" }),
        )
        : world.k8s.apply(ref, object),
  };
  const reports = await carryOut({ ...world, k8s, stillLeads: () => true }, await world.plan());
  assert.deepEqual(reports, [
    { name: "a", state: "failed", message: "helmcharts/a: 422: no" },
    { name: "b", state: "pending", message: "waits for add-on a" },
    { name: "c", state: "applied" },
  ]);
  assert.deepEqual(await world.objects(), ["helmcharts/c"]);
});

Deno.test("carryOut: an API that is gone is not asked again for every add-on", async () => {
  const world = createAddonWorld({ a: {}, b: {} });
  world.addons = [addon("a"), addon("b")];
  const plans = await world.plan();
  world.k8s.breakWith({ kind: "down" });
  world.k8s.forgetRequests();
  const reports = await carryOut({ ...world, stillLeads: () => true }, plans);
  assert.deepEqual(reports?.map(({ name, state }) => [name, state]), [
    ["a", "pending"],
    ["b", "pending"],
  ]);
  assert.equal(world.k8s.writes(), 1);
});

Deno.test("carryOut: a node that stops leading writes nothing more, and tells nothing", async () => {
  const world = createAddonWorld({ a: { objects: [chart("a"), chart("b")] } });
  world.addons = [addon("a")];
  let asked = 0;
  const hands = { ...world, stillLeads: () => ++asked <= 1 };
  world.k8s.forgetRequests();
  assert.equal(await carryOut(hands, await world.plan()), null);
  assert.equal(world.k8s.writes(), 1);
});
