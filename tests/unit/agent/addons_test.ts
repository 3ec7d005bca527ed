import assert from "node:assert/strict";
import { stepHelm } from "../../../adapters/fake/helm_controller.ts";
import { skipPath } from "../../../core/host/manifests.ts";
import { RELEASE_FILE } from "../../../core/state/paths.ts";
import { secretData } from "./started.ts";
import { createSettledWorld, type World } from "./world.ts";

const CHARTS = "/apis/helm.cattle.io/v1/namespaces/kube-system/helmcharts";
const DNS = "external-dns";
const CCM = "hcloud-cloud-controller-manager";
const TOKEN = "the-dns-token-in-clear";

function desireDns(world: World, enabled: boolean, domain = "example.com"): void {
  const addon = { name: DNS, enabled, options: { domain } };
  world.portal.desire({ addons: [{ ...addon, secret_options: { api_token: { plain: TOKEN } } }] });
}

function told(world: World): string[] {
  return world.lastReport().addons.map(({ name, state, message = "" }) =>
    `${name} ${state} ${message}`.trim()
  );
}

Deno.test("addons: with a secret option: pending, applied, away again", async () => {
  const world = await createSettledWorld();
  desireDns(world, true);
  await world.pass(70_000);
  assert.deepEqual(told(world), [`${DNS} pending chart ${DNS} is being installed`]);
  assert.deepEqual(secretData(world, `pbx-addon-${DNS}`), { token: TOKEN });
  assert.doesNotMatch(JSON.stringify(world.k8s.read(`${CHARTS}/${DNS}`)), new RegExp(TOKEN));

  stepHelm(world.k8s);
  stepHelm(world.k8s);
  await world.pass(70_000);
  assert.deepEqual(told(world), [`${DNS} applied`]);
  assert.deepEqual(world.conditions(), []);

  desireDns(world, false);
  await world.pass(105_000);
  assert.deepEqual(told(world), [`${DNS} removed`]);
  assert.equal(world.k8s.read(`${CHARTS}/${DNS}`), null);
  assert.deepEqual(secretData(world, `pbx-addon-${DNS}`), {});
  assert.notDeepEqual(secretData(world, "hcloud"), {});
  const files = world.disk.paths().map((path) => world.disk.text(path) ?? "");
  const words = [...files, world.log.text(), JSON.stringify(world.reports())];
  assert.equal(words.some((text) => text.includes(TOKEN)), false);
  await world.stop();
});

Deno.test("addons: idle cycles write nothing; after 10 minutes all is applied again", async () => {
  const world = await createSettledWorld();
  desireDns(world, true);
  await world.pass(40_000);
  stepHelm(world.k8s);
  stepHelm(world.k8s);
  await world.pass(40_000);
  world.k8s.forgetRequests();
  world.disk.forgetWrites();
  await world.pass(7 * 60_000);
  assert.equal(world.k8s.writes(), 0);
  assert.deepEqual(world.disk.writes(), []);
  await world.pass(4 * 60_000);
  const patched = world.k8s.requests().filter(({ method }) => method === "PATCH");
  assert.deepEqual(patched.map(({ path }) => path.split("/").at(-1)).sort(), [
    DNS,
    "hcloud",
    `pbx-addon-${DNS}`,
    "pbx-etcd-s3",
  ]);
  await world.stop();
});

Deno.test("addons: a desired state that changes nothing of them writes nothing", async () => {
  const world = await createSettledWorld();
  desireDns(world, true);
  stepHelm(world.k8s);
  await world.pass(40_000);
  stepHelm(world.k8s);
  stepHelm(world.k8s);
  await world.pass(40_000);
  world.k8s.forgetRequests();
  world.portal.desire({ host: { snapshots: { retention: 7 } } });
  await world.pass(70_000);
  assert.equal(world.lastReport().desired.revision, 3);
  assert.deepEqual(told(world), [`${DNS} applied`]);
  assert.equal(world.k8s.writes(), 0);
  await world.stop();
});

Deno.test("addons: a wrong option is a failed add-on and a condition, until it is mended", async () => {
  const world = await createSettledWorld();
  const addon = { name: CCM, enabled: true };
  world.portal.desire({ addons: [{ ...addon, options: { networking: "yes" } }] });
  await world.pass(70_000);
  const message = "option networking must be of type boolean";
  assert.deepEqual(told(world), [`${CCM} failed ${message}`]);
  assert.deepEqual(
    world.lastReport().conditions.map(({ code, message }) => [code, message]),
    [["addon_failed", `${CCM}: ${message}`]],
  );
  world.portal.desire({ addons: [{ ...addon, options: {} }] });
  await world.pass(70_000);
  assert.match(told(world)[0] ?? "", /pending Deployment .* is not there yet$/);
  assert.deepEqual(world.conditions(), []);
  assert.equal(world.disk.text(skipPath(CCM)), "");
  world.portal.desire({ addons: [] });
  await world.pass(70_000);
  assert.deepEqual(told(world), []);
  await world.stop();
});

Deno.test("addons: the release is on disk: they are kept up without the portal", async () => {
  const world = await createSettledWorld();
  desireDns(world, true);
  await world.pass(70_000);
  world.kill();
  world.portal.down = true;
  await world.k8s.remove({
    apiVersion: "helm.cattle.io/v1",
    resource: "helmcharts",
    namespace: "kube-system",
    name: DNS,
  });
  world.start();
  await world.pass(5_000);
  assert.notEqual(world.k8s.read(`${CHARTS}/${DNS}`), null);
  world.kill();

  // Without the file nothing is looked at, and nothing is lost.
  await world.disk.remove(RELEASE_FILE);
  world.start();
  await world.pass(60_000);
  assert.notEqual(world.k8s.read(`${CHARTS}/${DNS}`), null);
  world.portal.down = false;
  await world.pass(400_000);
  assert.notEqual(world.disk.text(RELEASE_FILE), null);
  await world.stop();
});

Deno.test("addons: an API that fails in the middle is told, and the next cycle puts it right", async () => {
  const world = await createSettledWorld();
  desireDns(world, true);
  world.kill();
  world.start((ports) => ({
    ...ports,
    k8s: {
      ...ports.k8s,
      apply(ref, object) {
        if (ref.name === DNS) world.k8s.breakWith({ kind: "status", status: 503 });
        return ports.k8s.apply(ref, object);
      },
    },
  }));
  await world.pass(5_000);
  assert.equal(world.k8s.read(`${CHARTS}/${DNS}`), null);
  world.kill();
  world.k8s.breakWith(null);
  world.start();
  await world.pass(40_000);
  assert.match(told(world)[0] ?? "", /pending/);
  assert.notEqual(world.k8s.read(`${CHARTS}/${DNS}`), null);
  await world.stop();
});
