import assert from "node:assert/strict";
import { stepHelm } from "../../../adapters/fake/helm_controller.ts";
import { planText } from "../../../cli/plan_text.ts";
import { type PlanView, readPlan } from "../../../core/agent/plan_view.ts";
import {
  IDENTITY_FILE,
  K3S_HOLD_FILE,
  RELEASE_FILE,
  STATE_FILE,
} from "../../../core/state/paths.ts";
import { RELEASE_PUBLIC_KEYS } from "./portal_inside.ts";
import { createSettledWorld, createWorld, type World } from "./world.ts";

const DNS = "external-dns";
const CHART = `/apis/helm.cattle.io/v1/namespaces/kube-system/helmcharts/${DNS}`;
const SECRET = `/api/v1/namespaces/kube-system/secrets/pbx-addon-${DNS}`;
const TOKEN = "the-dns-token-in-clear";

/** A world whose desired state is stored, and whose agent sees no API that it could carry it out at. */
async function worldWith(enabled: boolean, settled?: World): Promise<World> {
  const world = settled ?? await createSettledWorld();
  world.kill();
  const options = { domain: "example.com" };
  const addon = { name: DNS, enabled, options, secret_options: { api_token: { plain: TOKEN } } };
  world.portal.desire({ addons: [addon] });
  world.start((ports) => ({
    ...ports,
    k8s: { ...ports.k8s, ready: () => Promise.resolve(false) },
  }));
  await world.pass(5_000);
  world.kill();
  return world;
}

async function plan({ disk, k8s }: World): Promise<PlanView> {
  k8s.forgetRequests();
  disk.forgetWrites();
  const read = await readPlan(disk, k8s, RELEASE_PUBLIC_KEYS);
  assert.ok(read.ok, JSON.stringify(read));
  assert.equal(k8s.writes(), 0);
  assert.deepEqual(disk.writes(), []);
  for (const told of [JSON.stringify(read.value), planText(read.value)]) {
    for (const secret of [TOKEN, btoa(TOKEN), btoa("by hand")]) {
      assert.equal(told.includes(secret), false);
    }
  }
  return read.value;
}

function changes({ addons }: PlanView): string[] {
  return addons.flatMap(({ changes }) =>
    changes.map(({ action, object, why }) => `${action} ${object}: ${why}`)
  );
}

Deno.test("readPlan: what is not there yet, and nothing once it is", async () => {
  const world = await worldWith(true);
  const first = await plan(world);
  assert.deepEqual(changes(first), [
    `apply secrets/pbx-addon-${DNS}: it is not there`,
    `apply helmcharts/${DNS}: it is not there`,
  ]);
  assert.equal(first.revision, 2);
  assert.deepEqual(first.secrets, []);
  assert.match(planText(first), /\nadd-on external-dns: pending: chart external-dns is being/);

  world.start();
  await world.pass(40_000);
  stepHelm(world.k8s);
  stepHelm(world.k8s);
  assert.deepEqual(changes(await plan(world)), []);
  await world.stop();
});

Deno.test("readPlan: what was changed by hand, field by field, secrets as [secret]", async () => {
  const world = await worldWith(true);
  world.start();
  await world.pass(40_000);
  world.kill();
  stepHelm(world.k8s);
  stepHelm(world.k8s);
  const metadata = { namespace: "kube-system" };
  world.k8s.write(CHART, {
    apiVersion: "helm.cattle.io/v1",
    kind: "HelmChart",
    metadata: { ...metadata, name: DNS },
    spec: { values: { domainFilters: ["other.example.com"] } },
  }, "kubectl");
  for (const name of [`pbx-addon-${DNS}`, "hcloud"]) {
    world.k8s.write(SECRET.replace(`pbx-addon-${DNS}`, name), {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { ...metadata, name },
      data: { token: btoa("by hand") },
    }, "kubectl");
  }
  const view = await plan(world);
  assert.deepEqual(view.addons[0]?.changes.map(({ differences }) => differences), [
    [{ field: "data.token", live: "[secret]", wanted: "[secret]" }],
    [{
      field: "spec.values.domainFilters",
      live: ["other.example.com"],
      wanted: ["example.com"],
    }],
  ]);
  assert.deepEqual(view.secrets, [{
    action: "apply",
    object: "secrets/hcloud",
    why: "it is not as the release wants it",
    differences: [{ field: "data.token", live: "[secret]", wanted: "[secret]" }],
  }]);
  assert.match(planText(view), /domainFilters: \["other\.example\.com"\] -> \["example\.com"\]/);
});

Deno.test("readPlan: what goes, because its add-on is switched off", async () => {
  const world = await worldWith(true);
  world.start();
  await world.pass(40_000);
  await worldWith(false, world);
  assert.deepEqual(changes(await plan(world)), [
    `remove helmcharts/${DNS}: the add-on is switched off`,
    `remove secrets/pbx-addon-${DNS}: the add-on is switched off`,
  ]);
});

Deno.test("readPlan: says what keeps it from a plan", async () => {
  const world = await worldWith(true);
  const { disk, k8s } = world;
  const why = async (keys = RELEASE_PUBLIC_KEYS) => {
    const read = await readPlan(disk, k8s, keys);
    return read.ok ? "" : read.error;
  };
  assert.match(await why([]), /release\.json does not hold release 1\.0\.0, verified/);
  k8s.breakWith({ kind: "down" });
  assert.match(await why(), /could not be read/);
  k8s.breakWith(null);
  await disk.remove(RELEASE_FILE);
  assert.match(await why(), /release\.json does not hold/);
  await disk.remove(STATE_FILE);
  assert.match(await why(), /state\.json is not there/);
  await disk.remove(IDENTITY_FILE);
  assert.match(await why(), /identity\.json is not there/);
  assert.match(
    JSON.stringify(await readPlan(createWorld().disk, k8s, [])),
    /identity\.json is not there/,
  );
});

Deno.test("readPlan: says that nothing would be written where the agent may not act", async () => {
  const world = await worldWith(true);
  world.k8s.showCluster(1);
  const foreign = await plan(world);
  assert.match(foreign.withheld ?? "", /another cluster/);
  assert.deepEqual([foreign.secrets, changes(foreign)], [[], []]);
  assert.match(planText(foreign), /^nothing would be written: .*another cluster/m);
  world.k8s.showCluster(0);
  world.disk.put(K3S_HOLD_FILE, "a restore holds k3s\n");
  const held = await plan(world);
  assert.match(held.withheld ?? "", /k3s is held: a restore holds k3s/);
  await world.disk.remove(K3S_HOLD_FILE);
  assert.equal((await plan(world)).withheld, null);
});
