import assert from "node:assert/strict";
import { firstRelease } from "../../../adapters/portal/first_release.ts";
import type { StoredRelease } from "../../../adapters/portal/state.ts";
import type { JsonObject } from "../../../core/json.ts";
import { RELEASE_FILE } from "../../../core/state/paths.ts";
import { createSettledWorld, createWorld, type World } from "./world.ts";

const NEXT = "1.0.1";

function publish(world: World, change: Partial<StoredRelease> = {}): void {
  const payload = { ...firstRelease().payload as JsonObject, version: NEXT };
  world.portal.portal.state.releases.set(NEXT, { ...firstRelease(), payload, ...change });
}

async function wantNext(prepare: (world: World) => void): Promise<World> {
  const world = await createSettledWorld();
  prepare(world);
  world.portal.desire({ release: NEXT, host: { ingress: "none" } });
  await world.pass(70_000);
  return world;
}

async function assertRefused(world: World, code: string, stillMs = 0): Promise<void> {
  assert.deepEqual(world.conditions(), [code]);
  assert.equal(world.lastReport().desired.revision, 1);
  assert.doesNotMatch(
    world.disk.text("/etc/rancher/k3s/config.yaml.d/50-pbx-ingress.yaml") ?? "",
    /disable/,
  );
  // It goes away with its cause, however long that took.
  await world.pass(stillMs);
  world.portal.portal.memory.faults.length = 0;
  publish(world);
  await world.pass(stillMs === 0 ? 120_000 : 400_000);
  assert.equal(world.lastReport().desired.revision, 2);
  assert.deepEqual(world.conditions(), ["k3s_restart_pending"]);
  assert.equal((await world.status()).desired?.release, NEXT);
  await world.stop();
}

Deno.test("manifest: 404, 5xx and no network: manifest_unavailable, asked again until it comes", async () => {
  const path = "/releases/*";
  const faults: ((world: World) => void)[] = [
    () => {},
    ({ portal }) => portal.fault({ match: { path }, count: null, action: { status: 404 } }),
    ({ portal }) => portal.fault({ match: { path }, count: null, action: { status: 503 } }),
    ({ portal }) => portal.fault({ match: { path }, count: null, action: { cut: "before" } }),
    ({ portal }) => portal.fault({ match: { path }, count: null, action: { oversize: true } }),
    ({ portal }) =>
      portal.fault({
        match: { path },
        count: null,
        action: { status: 429, headers: { "Retry-After": "60" } },
      }),
  ];
  for (const fault of faults) await assertRefused(await wantNext(fault), "manifest_unavailable");
  await assertRefused(await wantNext(() => {}), "manifest_unavailable", 20 * 60_000);
});

Deno.test("manifest: one that does not verify is rejected, whatever is wrong with it", async () => {
  const payload = (change: JsonObject) => ({
    payload: { ...firstRelease().payload as JsonObject, version: NEXT, ...change },
  });
  const faults: Partial<StoredRelease>[] = [
    { signedBy: [] },
    { signedBy: ["stranger"] },
    { signedBy: ["impostor"] },
    { tampered: true },
    payload({ version: "1.0.2" }),
    payload({ image: null }),
    { payload: "no JSON" },
    { envelope: {} },
    { envelope: [] },
    { envelope: { payloadType: "x", payload: "", signatures: [] } },
  ];
  for (const fault of faults) {
    await assertRefused(await wantNext((world) => publish(world, fault)), "manifest_rejected");
  }
});

Deno.test("manifest: 200 that is no JSON is no envelope either", async () => {
  for (const action of [{ not_json: true }, { malformed: true }, { status: 200, text: "" }]) {
    const world = await wantNext(({ portal }) =>
      portal.fault({ match: { path: "/releases/*" }, count: null, action })
    );
    await assertRefused(world, "manifest_rejected");
  }
});

Deno.test("manifest: one good signature is enough, those of strangers do not matter", async () => {
  for (const signedBy of [["first"], ["second"], ["stranger", "impostor", "second"]] as const) {
    const world = await wantNext((world) => publish(world, { signedBy: [...signedBy] }));
    assert.equal(world.lastReport().desired.revision, 2, signedBy.join());
    await world.stop();
  }
});

Deno.test("manifest: a request that the portal refuses with 400 is sent three times in all", async () => {
  const world = await wantNext(({ portal }) =>
    portal.fault({ match: { path: "/releases/*" }, count: null, action: { status: 400 } })
  );
  await world.pass(20 * 60_000);
  assert.equal(world.requests(`/releases/${NEXT}/manifest`), 3);
  assert.deepEqual(world.conditions(), ["manifest_unavailable"]);
  await world.stop();
  world.portal.portal.memory.faults.length = 0;
  publish(world);
  world.start();
  await world.pass(400_000);
  assert.equal(world.lastReport().desired.revision, 2);
  await world.stop();
});

Deno.test("manifest: what is not sent any more makes no other release wait", async () => {
  const world = await wantNext(({ portal }) =>
    portal.fault({
      match: { path: `/releases/${NEXT}/manifest` },
      count: null,
      action: { status: 400 },
    })
  );
  await world.pass(20 * 60_000);
  assert.equal(world.requests(`/releases/${NEXT}/manifest`), 3);
  const other = "1.0.9";
  world.portal.desire({ release: other });
  await world.pass(40_000);
  assert.equal(world.requests(`/releases/${other}/manifest`), 1, "the next cycle asks for it");
  await world.stop();
});

Deno.test("manifest: its trouble holds up neither syncs nor another release", async () => {
  const world = await wantNext((world) => publish(world, { signedBy: [] }));
  const syncs = world.requests("/sync");
  await world.pass(300_000);
  assert.ok(world.requests("/sync") - syncs >= 8);
  const asked = world.requests(`/releases/${NEXT}/manifest`);
  assert.ok(asked >= 3 && asked <= 6, `${asked}`);
  // The one before is at hand and needs no request.
  world.portal.desire({ release: "1.0.0" });
  await world.pass(40_000);
  assert.equal(world.lastReport().desired.revision, 1);
  await world.pass(40_000);
  assert.equal(world.lastReport().desired.revision, 3);
  await world.stop();
});

Deno.test("manifest: kept on disk and verified again, so that a start needs no request for it", async () => {
  const world = await createSettledWorld();
  await world.stop();
  world.start();
  world.portal.desire({ host: { ingress: "none" } });
  await world.pass(70_000);
  assert.equal(world.lastReport().desired.revision, 2);
  assert.equal(world.requests("/releases/1.0.0/manifest"), 1);

  // The disk is no authority: what does not verify there is fetched.
  await world.stop();
  world.disk.put(RELEASE_FILE, '{"payloadType": "x"}');
  world.start();
  world.portal.desire({ servers: 1 });
  await world.pass(70_000);
  assert.equal(world.lastReport().desired.revision, 3);
  assert.equal(world.requests("/releases/1.0.0/manifest"), 2);
  await world.stop();
});

Deno.test("manifest: a program without release keys accepts none", async () => {
  const world = createWorld({ releaseKeys: [] });
  world.start();
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), ["manifest_rejected", "unsigned_manifest"]);
  assert.equal(world.lastReport().desired.revision, null);
  assert.equal(world.stored().first_start, "done");
  await world.stop();
});

Deno.test("manifest: one that was rejected stays so over a restart, while the wait runs", async () => {
  const world = await wantNext((world) => publish(world, { signedBy: [] }));
  assert.deepEqual(world.conditions(), ["manifest_rejected"]);
  for (let start = 0; start < 3; start++) {
    await world.stop();
    world.start();
    await world.pass(40_000);
    assert.deepEqual(world.conditions(), ["manifest_rejected"]);
  }
  await world.stop();
});

Deno.test("manifest: what the disk did not take is written as soon as it does, without another request", async () => {
  const world = await createSettledWorld();
  world.disk.onCall((operation, path) =>
    operation === "write" && path.startsWith(RELEASE_FILE) ? "full" : null
  );
  publish(world);
  world.portal.desire({ release: NEXT, addons: [{ name: "x", enabled: false, options: {} }] });
  await world.pass(100_000);
  assert.equal(world.lastReport().desired.revision, 2);
  world.disk.onCall(() => null);
  await world.pass(70_000);
  await world.stop();
  // Until the portal is there again the agent knows its release from the disk.
  world.portal.down = true;
  world.start();
  await world.pass(100_000);
  assert.equal(world.requests(`/releases/${NEXT}/manifest`), 1);
  assert.doesNotMatch(world.log.text(), /no add-on is looked at/);
  await world.stop();
});

Deno.test("manifest: a version's plus sign stands in the path as it is", async () => {
  const version = "1.0.1+build.7";
  const world = await createSettledWorld();
  const payload = { ...firstRelease().payload as JsonObject, version };
  world.portal.portal.state.releases.set(version, { ...firstRelease(), payload });
  world.portal.desire({ release: version });
  await world.pass(70_000);
  assert.equal(world.requests(`/releases/${version}/manifest`), 1);
  assert.equal(world.lastReport().desired.revision, 2);
  await world.stop();
});

Deno.test("manifest: one whose limits of options cannot be limits is rejected, named, and changes nothing", async () => {
  const world = await createSettledWorld();
  const { addons, ...payload } = firstRelease().payload as { addons: JsonObject };
  const option = { type: "string", pattern: "^(?!a).*$" };
  const dns = { ...addons["external-dns"] as JsonObject, options: { domain: option } };
  const release = { ...payload, version: "1.0.1", addons: { ...addons, "external-dns": dns } };
  const signed = { ...firstRelease(), payload: release as JsonObject };
  world.portal.portal.state.releases.set("1.0.1", signed);
  world.portal.desire({ release: "1.0.1" });
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), ["manifest_rejected"]);
  assert.match(
    world.lastReport().conditions[0]?.message ?? "",
    /addons\.external-dns\.options\.domain\.pattern: has look-around/,
  );
  assert.equal(world.lastReport().desired.revision, 1);
  await world.stop();
});
