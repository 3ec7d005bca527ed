import assert from "node:assert/strict";
import type { Program } from "./program.ts";
import { BIN, offer, stub, want } from "./update_world.ts";
import { resultOf } from "./upgrade_world.ts";
import { inWorld, type World } from "./world.ts";

/** A key of the owner; nothing in these tests is signed with it. */
const OWNED = [
  'approval_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ada@example.com"]',
  // The portal's bucket is the owner's.
  "s3_target: { endpoint: s3.example.com, bucket: pbx-snapshots, region: eu-central, folder: demo }",
  "",
].join("\n");

/** Says of a release that the portal has how old it is. */
function age(world: World, release: string, members: object): void {
  const { releases } = world.running.portal.state;
  const stored = releases.get(release);
  assert.ok(stored !== undefined, release);
  const payload = { ...stored.payload as Record<string, never>, ...members };
  releases.set(release, { ...stored, payload });
}

/** A node that runs release 1.0.0, which is of sequence 7, against a portal that has old ones to offer. */
async function inOldWorld(owned: boolean, test: (world: World) => Promise<void>): Promise<void> {
  await inWorld(async (world) => {
    await world.write(BIN, stub("0.1.0"), 0o755);
    age(world, "1.0.0", { sequence: 7, minimum: { sequence: 3 } });
    for (const { release, version, members } of Object.values(OLD)) {
      await offer(world, { release, version, text: stub(version) });
      age(world, release, members);
    }
    await test(world);
  }, { config: (yaml) => owned ? yaml + OWNED : yaml });
}

const PAST = "2026-01-02T00:00:00Z";
/** Each one properly signed, once. */
const OLD = {
  release_older: { release: "0.6.0", version: "0.0.6", members: { sequence: 6 } },
  release_below_minimum: { release: "0.2.0", version: "0.0.2", members: { sequence: 2 } },
  release_expired: {
    release: "0.8.0",
    version: "0.0.8",
    members: { sequence: 8, expires_at: PAST },
  },
} as const;
type Code = keyof typeof OLD;

/** What a hostile portal gets in by no way, by whether the owner has keys. */
const REFUSED: readonly { readonly owned: boolean; readonly codes: readonly Code[] }[] = [
  { owned: false, codes: ["release_below_minimum", "release_expired"] },
  { owned: true, codes: ["release_older", "release_below_minimum", "release_expired"] },
];

async function byDesiredState(world: World, code: Code): Promise<void> {
  const { release, version } = OLD[code];
  const before = world.report()?.desired.revision;
  await want(world, version, release);
  await world.until(
    `${code} of a desired state`,
    () => world.report()?.conditions.some((condition) => condition.code === code),
  );
  assert.equal(world.report()?.desired.revision, before, code);
  await want(world, "0.1.0", "1.0.0");
  await world.until("no word of it any more", () => world.report()?.conditions.length === 0);
}

async function by426(world: World, program: Program, code: Code): Promise<void> {
  const { release } = OLD[code];
  const error = { code: "protocol_too_old", message: "m", release };
  world.fault({ match: { path: "/sync" }, count: null, action: { status: 426, body: { error } } });
  const said = `takes only the agent of release ${release}: release ${release} `;
  await world.until(
    `${code} of a 426`,
    () => program.stderr().split("\n").some((line) => line.includes(said) && line.includes(code)),
  );
  world.mend();
  await world.until("no word of it any more", () => world.report()?.conditions.length === 0);
}

async function byUpgrade(world: World, code: Code): Promise<void> {
  const { release } = OLD[code];
  const operation = {
    id: `up-${release.replaceAll(".", "-")}`,
    kind: "cluster.upgrade",
    params: { release },
  };
  await world.admin("POST", "/clusters/demo/operations", operation);
  const result = await world.until(`${code} of an upgrade`, () => resultOf(world, operation.id));
  assert.deepEqual([result.state, result.code], ["failed", code]);
}

for (const { owned, codes } of REFUSED) {
  const keys = owned ? "with" : "without";

  Deno.test(`hostile portal: an old release that was signed once gets in by no way, ${keys} approval_keys`, async () => {
    await inOldWorld(owned, async (world) => {
      const program = await world.startSynced();
      for (const code of codes) {
        await byDesiredState(world, code);
        await by426(world, program, code);
        await byUpgrade(world, code);
      }
      assert.equal(await world.read(BIN), stub("0.1.0"));
      assert.deepEqual(world.requests().filter(({ path }) => path.includes("/artifacts/")), []);
      await program.stop();
    });
  });
}

Deno.test("hostile portal: without approval_keys an older release above the floor is taken, and said", async () => {
  await inOldWorld(false, async (world) => {
    const program = await world.startSynced();
    const { release, version } = OLD.release_older;
    await want(world, version, release);
    assert.deepEqual(await program.ended(), { code: 0, signal: null }, program.stderr());
    assert.equal(await world.read(BIN), stub(version));
    const { conditions } = JSON.parse((await world.cli("status")).stdout);
    const codes = conditions.map(({ code }: { code: string }) => code);
    assert.ok(codes.includes("release_older"), String(codes));
  });
});
