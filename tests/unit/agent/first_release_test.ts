import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import { CONFIG_FILE, IDENTITY_FILE, RELEASE_FILE } from "../../../core/state/paths.ts";
import { createWorld, type World } from "./world.ts";

/** A key of the owner; nothing in these tests is signed with it. */
const OWNER =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ada@example.com";
const OWNED = `approval_keys: ["${OWNER}"]\n` +
  "s3_target: { endpoint: s3.example.com, bucket: pbx-snapshots, region: eu-central, folder: demo }\n";

/** The releases of these tests, by their sequence. */
const VERSIONS = { 6: "0.6.0", 7: "1.0.0", 8: "1.8.0" } as const;
const EVIL = { config: { "kube-apiserver-arg": ["authorization-mode=AlwaysAllow"] } };

function fresh(isOwned: boolean): World {
  const world = createWorld();
  const { releases } = world.portal.portal.state;
  const first = releases.get("1.0.0");
  assert.ok(first !== undefined);
  for (const [sequence, version] of Object.entries(VERSIONS)) {
    const payload = { ...first.payload as JsonObject, version, sequence: Number(sequence) };
    releases.set(version, { ...first, payload });
  }
  if (isOwned) world.disk.put(CONFIG_FILE, `${world.disk.text(CONFIG_FILE)}${OWNED}`);
  return world;
}

const newest = (world: World) => world.stored(IDENTITY_FILE).releases?.newest?.sequence ?? null;
const accepted = (world: World) => world.stored().desired?.state.release ?? null;

function fault(world: World, path: string, action: JsonObject, count: number | null = null) {
  world.portal.fault({ match: { path }, count, action });
}

/** The enrollment names a release. */
function enrollWith(world: World, sequence: keyof typeof VERSIONS, more: JsonObject = {}): void {
  fault(world, "/enroll", { merge: { release: VERSIONS[sequence], ...more } });
}

/** Which of the two releases is verified first, and what lies between. */
const ORDERS: Readonly<Record<string, (world: World) => Promise<void>>> = {
  "the first sync before k3s is configured": async (world) => {
    world.start();
    await world.pass(120_000);
  },
  "no sync before k3s runs": async (world) => {
    fault(world, "/sync", { status: 503 }, 3);
    world.start();
    await world.pass(240_000);
  },
  "a restart between the enrollment and the first sync": async (world) => {
    fault(world, "/sync", { status: 503 });
    world.start();
    await world.pass(20_000);
    await world.stop();
    world.portal.portal.memory.faults.pop();
    world.start();
    await world.pass(400_000);
  },
  "a kill right after the enrollment": async (world) => {
    fault(world, "/releases/*", { status: 503 });
    fault(world, "/sync", { status: 503 });
    world.start();
    await world.pass(1_000);
    world.kill();
    world.portal.portal.memory.faults.splice(-2);
    world.start();
    await world.pass(400_000);
  },
};

for (const [order, live] of Object.entries(ORDERS)) {
  // Of enrollment and first desired state: what is said, and taken, without the owner's keys and with them.
  for (
    const [enrolled, desired, open, owned] of [
      [7, 6, "release_older", "approval_missing,release_older"],
      [7, 7, "", ""],
      [7, 8, "", ""],
      [6, 7, "", ""],
    ] as const
  ) {
    Deno.test(`first release: enrolled with sequence ${enrolled}, then ${desired} is wanted; ${order}`, async () => {
      for (const [isOwned, said] of [[false, open], [true, owned]] as const) {
        const world = fresh(isOwned);
        enrollWith(world, enrolled);
        world.portal.desire({ release: VERSIONS[desired] });
        await live(world);
        const restart = "k3s_restart_pending";
        const conditions = world.conditions().filter((code) => code !== restart);
        assert.equal(conditions.join(), said, `owned: ${isOwned}`);
        const isTaken = !said.includes("approval_missing");
        assert.equal(accepted(world), isTaken ? VERSIONS[desired] : null);
        assert.equal(newest(world), Math.max(enrolled, desired));
        assert.equal(world.stored().first_start, "done");
        await world.stop();
      }
    });
  }
}

Deno.test("first release: where the enrollment's is out of reach, the first one verified is the newest", async () => {
  const world = fresh(true);
  fault(world, "/releases/1.0.0/manifest", { status: 404 });
  world.portal.desire({ release: VERSIONS[6] });
  world.start();
  await world.pass(60_000);
  assert.equal(newest(world), 6);
  assert.equal(accepted(world), VERSIONS[6]);
  assert.deepEqual(world.conditions(), ["api_down", "manifest_unavailable"]);
  world.portal.portal.memory.faults.length = 0;
  await world.pass(400_000);
  assert.equal(world.stored().first_start, "done");
  await world.stop();
});

Deno.test("first release: what is said of the enrollment's stays said beside a newer one that is wanted", async () => {
  const world = fresh(false);
  enrollWith(world, 7, { k3s: EVIL });
  world.start();
  await world.pass(60_000);
  world.portal.portal.memory.faults.length = 0;
  enrollWith(world, 6, { k3s: EVIL });
  await world.pass(900_000);
  assert.ok(world.conditions().includes("release_older"), world.conditions().join());
  const raised = world.log.records().filter(({ event }) => event === "release_older");
  assert.equal(raised.length, 1);
  world.portal.portal.memory.faults.length = 0;
  await world.pass(400_000);
  assert.equal(world.stored().first_start, "done");
  assert.ok(!world.conditions().includes("release_older"), world.conditions().join());
  await world.stop();
});

for (const isOwned of [false, true]) {
  const keys = isOwned ? "with" : "without";
  Deno.test(`first release: another answer to the enrollment names an older one, ${keys} the owner's keys`, async () => {
    const world = fresh(isOwned);
    enrollWith(world, 7, { k3s: EVIL });
    // The desired state stays out of reach, so that the enrollment's releases alone are judged.
    fault(world, "/releases/1.8.0/manifest", { status: 404 });
    world.portal.desire({ release: VERSIONS[8] });
    world.start();
    await world.pass(60_000);
    assert.equal(newest(world), 7);
    world.portal.portal.memory.faults.shift();
    enrollWith(world, 6);
    await world.pass(400_000);
    assert.ok(world.conditions().includes("release_older"), world.conditions().join());
    assert.equal(world.stored().first_start, isOwned ? "configure" : "done");
    assert.equal(newest(world), 7);
    // A newer one that is wanted ends what is said about the enrollment's.
    world.portal.portal.memory.faults.length = 0;
    if (!isOwned) {
      await world.pass(400_000);
      assert.equal(world.conditions().includes("release_older"), false);
    }
    await world.stop();
  });

  Deno.test(`first release: a 426 in the place of the first sync names an older one, ${keys} the owner's keys`, async () => {
    const world = fresh(isOwned);
    world.disk.put("/var/lib/pbx-agent/bin/pbx-agent", "pbx-agent 0.1.0\n", 0o755);
    const { releases } = world.portal.portal.state;
    const old = releases.get(VERSIONS[6]);
    assert.ok(old !== undefined);
    const agent = { version: "0.0.1", artifacts: {} };
    releases.set(VERSIONS[6], { ...old, payload: { ...old.payload as JsonObject, agent } });
    const body = { error: { code: "protocol_too_old", message: "m", release: VERSIONS[6] } };
    fault(world, "/sync", { status: 426, body });
    world.start();
    await world.pass(20_000);
    assert.equal(newest(world), 7);
    const { conditions } = await world.status();
    const said = conditions.find(({ code }) => code === "release_older")?.message ?? "";
    assert.match(said, /0\.6\.0 \(sequence 6\) is older than 1\.0\.0 \(sequence 7\)/);
    assert.equal(said.includes("must approve"), isOwned, said);
    await world.stop();
  });

  Deno.test(`first release: an agent from before whose own manifest is gone, ${keys} the owner's keys`, async () => {
    const world = fresh(isOwned);
    world.start();
    await world.pass(120_000);
    await world.stop();
    const { releases: _gone, ...identity } = world.stored(IDENTITY_FILE);
    world.disk.put(IDENTITY_FILE, JSON.stringify(identity));
    world.disk.put(RELEASE_FILE, "");
    fault(world, "/releases/1.0.0/manifest", { status: 404 });
    world.portal.desire({ release: VERSIONS[6] });
    world.start();
    await world.pass(80_000);
    // Whether it is older is not known: the owner decides, or nobody is asked.
    assert.equal(accepted(world), VERSIONS[isOwned ? 7 : 6]);
    assert.equal(world.conditions().includes("approval_missing"), isOwned);
    assert.match(
      JSON.stringify(world.log.records()),
      /0\.6\.0 \(sequence 6\) may be older than 1\.0\.0/,
    );
    if (isOwned) {
      assert.ok(world.conditions().includes("release_older"));
      // Once it can be read again, it is the newest; a newer one needs no approval.
      world.portal.portal.memory.faults.length = 0;
      world.portal.desire({ release: VERSIONS[8] });
      await world.pass(400_000);
      assert.deepEqual(world.conditions(), []);
      assert.equal(newest(world), 8);
    }
    await world.stop();
  });
}

Deno.test("first release: an agent from before keeps its release's place when a 426 comes first", async () => {
  const world = fresh(true);
  world.start();
  await world.pass(120_000);
  await world.stop();
  const { releases: _gone, ...identity } = world.stored(IDENTITY_FILE);
  world.disk.put(IDENTITY_FILE, JSON.stringify(identity));
  const body: JsonValue = {
    error: { code: "protocol_too_old", message: "m", release: VERSIONS[6] },
  };
  fault(world, "/sync", { status: 426, body });
  // The fetched manifest takes the place of the old one's file.
  fault(world, "/releases/1.0.0/manifest", { status: 404 });
  world.disk.put("/var/lib/pbx-agent/bin/pbx-agent", "pbx-agent 0.1.0\n", 0o755);
  world.start();
  await world.pass(80_000);
  assert.equal(newest(world), 7);
  const { conditions } = await world.status();
  assert.ok(conditions.some(({ code }) => code === "release_older"));
  await world.stop();
});
