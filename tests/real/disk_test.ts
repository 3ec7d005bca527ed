// needs: root
/**
 * The real program on real file systems that are full, read-only, or have lost what was in a file.
 */
import assert from "node:assert/strict";
import { inWorld, type World } from "../e2e/world.ts";
import { emptyEachFile, emptyFreshKeys } from "./disk/lost_bytes.ts";
import { mountSmallDisk, type SmallDisk } from "./disk/small_disk.ts";
import { watchDocuments } from "./disk/watch_documents.ts";

const STATE = "/var/lib/pbx-agent";
/** Enough for every document and a temporary one beside it. */
const PAGES = 48;

/** A test on a world where one folder is a small disk, with all documents under watch. */
function onSmallDisk(
  name: string,
  folder: string,
  test: (world: World, disk: SmallDisk) => Promise<void>,
): void {
  Deno.test(`${folder}: ${name}`, () =>
    inWorld(async (world) => {
      const before = await filesIn(world, folder);
      const disk = await mountSmallDisk(world.root + folder, PAGES);
      const watch = watchDocuments(world.root);
      try {
        for (const [path, text] of before) await world.write(path, text);
        await test(world, disk);
        assert.ok(watch.looks() > 10);
      } finally {
        try {
          await watch.end();
        } finally {
          await disk.unmount();
        }
      }
    }));
}

/** What is in the folder now, to be put on the disk that hides it. */
async function filesIn(world: World, folder: string): Promise<[string, string][]> {
  const found: [string, string][] = [];
  const entries = await Array.fromAsync(Deno.readDir(world.root + folder)).catch(() => []);
  for (const { name } of entries) {
    found.push([`${folder}/${name}`, await world.read(`${folder}/${name}`)]);
  }
  return found;
}

onSmallDisk("full before the first start", STATE, async (world, disk) => {
  await disk.fill();
  const program = world.start();
  await program.event("keys_not_stored");
  assert.equal(world.requests("/enroll").length, 0, "keys are stored before they are used");
  await disk.empty();
  await synced(world);
  assert.equal(world.agents().length, 1);
  await program.stop();
});

onSmallDisk("full when the answer to the enrollment comes", STATE, async (world, disk) => {
  world.fault({ match: { path: "/enroll" }, action: { status: 503 } });
  const program = world.start();
  await world.until("a first try", () => world.requests("/enroll").length > 0);
  await disk.fill();
  world.mend();
  await program.event("bootstrap_not_stored");
  assert.equal(world.agents().length, 1);
  const [agent] = world.agents();
  const keys = agent?.keys;
  await disk.empty();
  await synced(world);
  assert.equal(world.agents().length, 1, "the same keys get the same answer again");
  assert.deepEqual(world.agents()[0]?.keys, keys);
  await program.stop();
});

onSmallDisk("full while it runs", STATE, async (world, disk) => {
  const program = await world.startSynced();
  const before = await world.state();
  await disk.fill();
  await desireSchedule(world, "17 4 * * *");
  await condition(world, true);
  const during = await world.state();
  assert.deepEqual(during["desired"], before["desired"], "the old document is there and readable");
  assert.equal(program.end(), null);
  const { stdout } = await world.cli("status");
  assert.equal(JSON.parse(stdout).stage, "syncing");
  await disk.empty();
  await condition(world, false);
  await applied(world, "17 4 * * *");
  await program.stop();
});

onSmallDisk("read-only at the start and under the running agent", STATE, async (world, disk) => {
  await (await world.startSynced()).stop();
  await disk.setReadOnly(true);
  const program = world.start();
  await desireSchedule(world, "17 5 * * *");
  await condition(world, true);
  await disk.setReadOnly(false);
  await condition(world, false);
  await applied(world, "17 5 * * *");

  // The lock was taken for reading only, so that the file system lets itself be remounted.
  await disk.setReadOnly(true);
  await desireSchedule(world, "17 6 * * *");
  await condition(world, true);
  assert.equal(program.end(), null);
  assert.equal(revisionOf(await world.state()), world.report()?.desired.revision ?? 0);
  await disk.setReadOnly(false);
  await condition(world, false);
  await applied(world, "17 6 * * *");
  assert.equal(world.agents().length, 1);
  await program.stop();
});

for (const kind of ["full", "read-only"] as const) {
  onSmallDisk(`${kind} when the used token has to go`, "/etc/pbx-agent", async (world, disk) => {
    await spoil(disk, kind, true);
    const program = world.start();
    await condition(world, true);
    assert.equal(await world.read("/etc/pbx-agent/config.yaml"), world.configYaml);
    await spoil(disk, kind, false);
    await condition(world, false);
    const left = await world.read("/etc/pbx-agent/config.yaml");
    assert.equal(left, world.configYaml.replace(/^enrollment_token:.*\n/m, ""));
    await program.stop();
  });

  onSmallDisk(`${kind} when k3s is configured`, "/etc/rancher", async (world, disk) => {
    await spoil(disk, kind, true);
    const program = world.start();
    await condition(world, true);
    assert.equal(await world.node.unitState("k3s.service"), "inactive");
    await spoil(disk, kind, false);
    await synced(world);
    await condition(world, false);
    await program.stop();
  });

  onSmallDisk(`${kind} when a drop-in changes`, "/etc/rancher", async (world, disk) => {
    const program = await world.startSynced();
    const path = "/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml";
    const before = await world.read(path);
    await spoil(disk, kind, true);
    await desireSchedule(world, "17 7 * * *");
    await condition(world, true);
    assert.equal(await world.read(path), before);
    await spoil(disk, kind, false);
    await condition(world, false);
    await applied(world, "17 7 * * *");
    assert.equal(program.end(), null);
    await program.stop();
  });
}

Deno.test("run: each file emptied, one at a time, and no other identity ever", () =>
  inWorld(emptyEachFile));

Deno.test("run: keys that are lost before the enrollment is answered are not made anew", () =>
  inWorld(emptyFreshKeys));

function spoil(disk: SmallDisk, kind: "full" | "read-only", spoiled: boolean): Promise<void> {
  if (kind === "read-only") return disk.setReadOnly(spoiled);
  return spoiled ? disk.fill() : disk.empty();
}

/** Waits until the newest report does, or does not, tell that the disk is full. */
async function condition(world: World, raised: boolean): Promise<void> {
  await world.until(`a report ${raised ? "with" : "without"} disk_full`, () => {
    const codes = world.report()?.conditions.map(({ code }) => code);
    return codes !== undefined && codes.includes("disk_full") === raised;
  });
}

/** Waits until the first start is over. */
async function synced(world: World): Promise<void> {
  await world.until("the end of the first start", async () => {
    return (await world.state().catch(() => null))?.["first_start"] === "done";
  });
}

function desireSchedule(world: World, schedule: string): Promise<void> {
  return world.desire({ host: { snapshots: { schedule } } });
}

/** Waits until the schedule is in k3s's configuration and the portal knows its revision. */
async function applied(world: World, schedule: string): Promise<void> {
  const path = "/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml";
  await world.until(`${schedule} in ${path}`, async () => {
    return (await world.read(path)).includes(schedule) &&
      revisionOf(await world.state()) === world.report()?.desired.revision;
  });
}

function revisionOf(state: Record<string, unknown>): number | undefined {
  return (state["desired"] as { state?: { revision?: number } } | null)?.state?.revision;
}
