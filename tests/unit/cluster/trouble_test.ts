import assert from "node:assert/strict";
import { carryOut } from "../../../core/cluster/carry_out.ts";
import { mayPass, mayPassByNextLook } from "../../../core/cluster/may_pass.ts";
import { skipPath } from "../../../core/host/manifests.ts";
import type { K8s, K8sError } from "../../../core/ports/k8s.ts";
import { fail } from "../../../core/result.ts";
import {
  addon,
  type AddonWorld,
  chart,
  chartPath,
  createAddonWorld,
  installPlatform,
  planWith,
  platform,
  template,
} from "./addon_world.ts";

function refused(status: number, message = `${status}: no`, reason = ""): K8sError {
  return { code: "refused", status, reason, message };
}

const UNREACHABLE: K8sError = { code: "unreachable", message: "connection refused" };
const WEBHOOK = 'failed calling webhook "policy.example.com": no endpoints available';
const TERMINATING = "unable to create new content in namespace x because it is being terminated";
const UNKNOWN_FIELD = "failed to create typed patch object: .spec.x: field not declared in schema";

/** What may pass of an apply, and what is a verdict. */
const PASSING: readonly K8sError[] = [
  UNREACHABLE,
  ...[401, 404, 408, 409, 410, 429, 500, 502, 503, 504, 599].map((status) => refused(status)),
  refused(500, WEBHOOK, "InternalError"),
  refused(403, TERMINATING, "Forbidden"),
];
const VERDICTS: readonly K8sError[] = [
  ...[400, 403, 405, 413, 415, 422].map((status) => refused(status)),
  refused(500, UNKNOWN_FIELD, "InternalError"),
];

/** Two charts of one add-on, where the release has dropped one and brought another. */
async function changed(): Promise<AddonWorld> {
  const world = createAddonWorld({ a: { objects: [chart("a"), chart("old")] }, z: {} });
  world.addons = [addon("a"), addon("z")];
  await world.turn();
  world.templates["a"] = template("a", { objects: [chart("a", { timeout: "5m" }), chart("new")] });
  return world;
}

async function turnWith(world: AddonWorld, k8s: Partial<K8s>) {
  const troubled: string[] = [];
  const hands = {
    ...world,
    k8s: { ...world.k8s, ...k8s },
    stillLeads: () => true,
    onTrouble: (name: string) => void troubled.push(name),
  };
  const reports = await carryOut(hands, await world.plan());
  return { reports: reports ?? [], troubled };
}

Deno.test("add-ons: an apply that may pass later leaves them pending, and prunes nothing", async () => {
  for (const error of PASSING) {
    const world = await changed();
    const { reports, troubled } = await turnWith(world, {
      apply: (ref, object) =>
        ref.name === "new" ? Promise.resolve(fail(error)) : world.k8s.apply(ref, object),
    });
    assert.deepEqual(reports, [
      { name: "a", state: "pending", message: `helmcharts/new: ${error.message}` },
      { name: "z", state: "applied" },
    ]);
    assert.deepEqual(troubled, ["a"]);
    assert.deepEqual(await world.objects(), ["helmcharts/a", "helmcharts/old", "helmcharts/z"]);
    assert.deepEqual(await world.turn(), { a: "applied", z: "applied" }, "the next cycle does it");
    assert.deepEqual(await world.objects(), ["helmcharts/a", "helmcharts/new", "helmcharts/z"]);
  }
});

Deno.test("add-ons: an apply that the API refuses for good fails them", async () => {
  for (const error of VERDICTS) {
    const world = await changed();
    const { reports, troubled } = await turnWith(world, {
      apply: (ref, object) =>
        ref.name === "new" ? Promise.resolve(fail(error)) : world.k8s.apply(ref, object),
    });
    const message = `helmcharts/new: ${error.message}`;
    assert.deepEqual(reports[0], { name: "a", state: "failed", message });
    assert.deepEqual(troubled, []);
    assert.ok((await world.objects()).includes("helmcharts/old"));
  }
});

Deno.test("add-ons: a removal or a prune that may pass later is pending and goes on", async () => {
  for (const error of PASSING) {
    const world = await changed();
    const broken = { remove: () => Promise.resolve(fail(error)) };
    const pruned = await turnWith(world, broken);
    const message = `helmcharts/old: ${error.message}`;
    assert.deepEqual(pruned.reports[0], { name: "a", state: "pending", message });
    world.addons = [addon("a", false), addon("z")];
    const off = await turnWith(world, broken);
    assert.equal(off.reports[0]?.state, "pending");
    await world.turn();
    assert.deepEqual(await world.turn(), { a: "removed", z: "applied" });
  }
});

Deno.test("add-ons: a disk that takes no file leaves them pending", async () => {
  for (const code of ["full", "read_only", "io"] as const) {
    const world = createAddonWorld({ a: { manifest: "ccm" } });
    world.addons = [addon("a")];
    world.disk.failNext(code, { operation: "write", path: `${skipPath("ccm")}.tmp` });
    assert.match((await world.turn())["a"] ?? "", /^pending: .*ccm/);
    assert.deepEqual(await world.objects(), [], "k3s would undo what is applied before");
    assert.deepEqual(await world.turn(), { a: "applied" });
  }
});

/** A cluster where the lists of a resource answer with `error`, or know no such kind. */
function unlisted(world: AddonWorld, resource: string, error: K8sError | null): AddonWorld {
  const list: K8s["list"] = (ref, ...rest) =>
    ref.resource !== resource
      ? world.k8s.list(ref, ...rest)
      : Promise.resolve(error === null ? { ok: true, value: null } : fail(error));
  const other: AddonWorld = createAddonWorld();
  return Object.assign(other, world, { k8s: { ...world.k8s, list } });
}

Deno.test("add-ons: what could not be listed is not gone", async () => {
  for (const resource of ["helmcharts", "secrets"]) {
    for (const error of [null, refused(503), refused(403)]) {
      const world = await changed();
      world.addons = [addon("a", false)];
      const blind = unlisted(world, resource, error);
      const plans = await planWith(blind);
      assert.deepEqual(plans.map(({ state, remove }) => [state, remove.length]), [["pending", 0]]);
      const why = error === null ? `does not know ${resource} yet` : `${error.message}`;
      assert.ok(plans[0]?.message?.includes(why), plans[0]?.message);
    }
  }
});

Deno.test("add-ons: one that conflicts waits until it is known that the other is gone", async () => {
  const world = createAddonWorld({ a: {}, b: { conflicts: ["a"] } });
  world.addons = [addon("a", false), addon("b")];
  world.k8s.write(
    chartPath("a"),
    { apiVersion: "helm.cattle.io/v1", ...chart("a") },
    "somebody",
  );

  const plans = await planWith(unlisted(world, "secrets", refused(503)));
  assert.deepEqual(plans.map(({ name, state }) => `${name} ${state}`), ["a pending", "b pending"]);
});

Deno.test("platform: applications of a kind that is defined and not served yet keep it", async () => {
  const world = createAddonWorld({
    paas: { removal: "platform", objects: [chart("paas"), platform()] },
  });
  installPlatform(world);
  world.addons = [addon("paas")];
  assert.deepEqual(await world.turn(), { paas: "applied" });
  world.addons = [addon("paas", false)];

  for (const resource of ["saasapplications", "platforms", "customresourcedefinitions"]) {
    for (const error of [null, refused(503), refused(429)]) {
      const [plan] = await planWith(unlisted(world, resource, error));
      const what = `${resource} ${error?.message}`;
      assert.deepEqual(
        [plan?.state, plan?.apply.length, plan?.remove.length],
        ["pending", 0, 0],
        what,
      );
    }
  }
});

Deno.test("mayPass: a conflict and a missing object are answers to one request", () => {
  for (const status of [404, 409]) {
    assert.equal(mayPass(refused(status)), false);
    assert.equal(mayPassByNextLook(refused(status)), true);
  }
  assert.equal(mayPass(refused(409, TERMINATING)), true);
});
