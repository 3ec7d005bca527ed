import assert from "node:assert/strict";
import { NEW_PROGRAM_FILE, STATE_FILE } from "../../../core/state/paths.ts";
import {
  type Attack,
  ENVELOPE_ATTACKS,
  PLACE_ATTACKS,
  SIGNATURE_ATTACKS,
  SIGNED_ATTACKS,
  TAKEN,
} from "./signature_attacks.ts";
import { createSettledWorld, type World } from "./world.ts";

const SECRETS = "/api/v1/namespaces/kube-system/secrets";

/** The portal answers the next question for a manifest with this, and wants that release. */
function offer(world: World, version: string, attack: Attack): void {
  const path = `/releases/${version}/manifest`;
  const action = { status: 200, text: attack(version) };
  world.portal.fault({ match: { path }, count: null, action });
  const isOdd = Number(version.split(".")[2]) % 2 === 1;
  world.portal.desire({ release: version, host: { ingress: isOdd ? "none" : "traefik" } });
}

/** Everything that a release may change, without what the agent keeps for itself. */
function footprint(world: World): string {
  const { disk, k8s, systemd } = world;
  const { desired } = world.stored();
  const files = disk.paths().filter((path) => !path.startsWith(STATE_FILE))
    .map((path) => `${path}\n${disk.text(path)}`);
  // The Secrets are applied anew every 10 minutes, as they were.
  const secrets = ["hcloud", "pbx-etcd-s3"].map((name) => k8s.read(`${SECRETS}/${name}`)?.["data"]);
  return JSON.stringify([files, desired, secrets, systemd.calls], null, 1);
}

function attacks(name: string, table: Readonly<Record<string, Attack>>): void {
  Deno.test(`signature attacks: ${name}: manifest_rejected, and nothing changes`, async () => {
    const world = await createSettledWorld();
    const before = footprint(world);
    let count = 0;
    for (const [what, attack] of Object.entries(table)) {
      const version = `2.0.${count++}`;
      offer(world, version, attack);
      await world.pass(35_000);
      assert.ok(world.requests(`/releases/${version}/manifest`) > 0, `${what}: not asked for`);
      const conditions: { code: string; message: string }[] = world.stored().conditions;
      const rejected = conditions.find(({ code }) => code === "manifest_rejected");
      assert.ok(rejected?.message.startsWith(`release ${version}: `), `${what}: not rejected`);
      assert.equal(world.lastReport().desired.revision, 1, what);
      assert.equal(footprint(world), before, what);
    }
    assert.ok(count > 10);
    await world.pass(35_000);
    assert.deepEqual(world.conditions(), ["manifest_rejected"]);
    assert.equal(world.disk.text(NEW_PROGRAM_FILE), null);
    await world.stop();
  });
}

attacks("envelope", ENVELOPE_ATTACKS);
attacks("signatures", SIGNATURE_ATTACKS);
attacks("signed by release keys", SIGNED_ATTACKS);
attacks("each place of the manifest", PLACE_ATTACKS);

Deno.test("signature attacks: what has one good signature is taken, whatever stands beside it", async () => {
  const world = await createSettledWorld();
  let count = 0;
  for (const [what, attack] of Object.entries(TAKEN)) {
    offer(world, `2.0.${count++}`, attack);
    await world.pass(35_000);
    await world.pass(35_000);
    assert.equal(world.lastReport().desired.revision, 1 + count, what);
    assert.ok(!world.conditions().includes("manifest_rejected"), what);
  }
  await world.stop();
});
