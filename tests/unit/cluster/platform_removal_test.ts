import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import {
  addon,
  type AddonWorld,
  chart,
  CLUSTER,
  createAddonWorld,
  installPlatform,
  platform,
  PLATFORM_API,
} from "./addon_world.ts";

const PLATFORM = `/apis/${PLATFORM_API}/platforms/${CLUSTER}`;
const APPLICATION = "/apis/apps.example.com/v1beta1/namespaces/default/saasapplications/shop";

/** A cluster whose Platform is installed, and is then switched off. */
async function switchedOff(): Promise<AddonWorld> {
  const world = createAddonWorld({
    paas: { removal: "platform", objects: [chart("paas"), platform()] },
  });
  world.addons = [addon("paas")];
  assert.deepEqual(await world.turn(), {
    paas: "pending: the cluster does not know platforms yet",
  });
  assert.deepEqual(await world.objects(), ["helmcharts/paas"]);
  // Its chart brings the kinds.
  installPlatform(world);
  assert.deepEqual(await world.turn(), { paas: "applied" });
  world.addons = [addon("paas", false)];
  return world;
}

function setStatus({ k8s }: AddonWorld, type: string, message = ""): void {
  const status = { conditions: [{ type, status: "True", message }] };
  const object = {
    apiVersion: PLATFORM_API,
    kind: "Platform",
    metadata: { name: CLUSTER },
    status,
  };
  k8s.write(PLATFORM, object, "platform-operator");
}

function spec({ k8s }: AddonWorld): JsonObject | undefined {
  return k8s.read(PLATFORM)?.["spec"] as JsonObject | undefined;
}

Deno.test("platform: emptied, removed once its status says so, and before what runs it", async () => {
  const world = await switchedOff();
  assert.deepEqual(await world.turn(), {
    paas: "pending: a Platform that installs nothing is applied first",
  });
  assert.deepEqual(spec(world) ?? {}, {});
  assert.deepEqual(await world.turn(), {
    paas: "pending: waits until the Platform has removed everything",
  });
  assert.deepEqual(await world.objects(), ["helmcharts/paas", `platforms/${CLUSTER}`]);
  setStatus(world, "Removed");
  assert.deepEqual(await world.turn(), { paas: "pending: the Platform itself goes" });
  assert.deepEqual(await world.objects(), ["helmcharts/paas"]);
  assert.deepEqual(await world.turn(), { paas: "pending: is being removed" });
  assert.deepEqual(await world.turn(), { paas: "removed" });
  assert.deepEqual(await world.objects(), []);
});

Deno.test("platform: while an application exists nothing changes, and it is named", async () => {
  const world = await switchedOff();
  const application = { apiVersion: "apps.example.com/v1beta1", kind: "SaaSApplication" };
  const metadata = { name: "shop", namespace: "default" };
  world.k8s.write(APPLICATION, { ...application, metadata }, "customer");
  world.k8s.forgetRequests();
  const told = { paas: "failed: still used by default/shop; delete them first" };
  assert.deepEqual([await world.turn(), await world.turn()], [told, told]);
  assert.equal(world.k8s.writes(), 0);
  assert.deepEqual(spec(world), { components: ["all"] });
  world.k8s.drop(APPLICATION);
  assert.match((await world.turn())["paas"] ?? "", /^pending: a Platform that installs nothing/);
});

Deno.test("platform: one that refuses keeps everything, and says why", async () => {
  const world = await switchedOff();
  await world.turn();
  setStatus(world, "RemovalRefused", "volumes are still in use");
  const before = await world.objects();
  assert.deepEqual(await world.turn(), { paas: "failed: volumes are still in use" });
  assert.deepEqual(await world.objects(), before);
});

Deno.test("platform: a status about an older spec does not let it go", async () => {
  const world = await switchedOff();
  await world.turn();
  const object = {
    apiVersion: PLATFORM_API,
    kind: "Platform",
    metadata: { name: CLUSTER, generation: 2 },
    status: { observedGeneration: 1, conditions: [{ type: "Removed", status: "True" }] },
  };
  world.k8s.write(PLATFORM, object, "platform-operator");
  assert.match((await world.turn())["paas"] ?? "", /^pending: waits until/);
});

Deno.test("platform: a release without its template does not take it away", async () => {
  const world = await switchedOff();
  world.templates = {};
  const told = { paas: "failed: release 1.0.0 does not say how the Platform is removed" };
  assert.deepEqual(await world.turn(), told);
  assert.deepEqual(await world.objects(), ["helmcharts/paas", `platforms/${CLUSTER}`]);
});

Deno.test("platform: switched on again in the middle, it is what it was", async () => {
  const world = await switchedOff();
  await world.turn();
  world.addons = [addon("paas")];
  assert.deepEqual(await world.turn(), { paas: "applied" });
  assert.deepEqual(spec(world), { components: ["all"] });
});
