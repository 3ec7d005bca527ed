import assert from "node:assert/strict";
import { settleUpgrade } from "../../../core/agent/settle_upgrade.ts";
import { begun } from "../../../core/operations/journal.ts";
import { writeUpgrade } from "../../../core/operations/upgrade/record.ts";
import { armReturn, isReturnThere } from "../../../core/operations/upgrade/return_timer.ts";
import { UPGRADE_FILE } from "../../../core/state/paths.ts";
import { imagesOf } from "../operations/upgrade_case.ts";
import {
  createUpgradeMachine,
  FROM_ENTRY,
  IMAGE,
  OLDER_ENTRY,
  openUpgradeAgent,
  TO_ENTRY,
  type UpgradeMachine,
} from "../operations/upgrade_world.ts";

/** A machine as an upgrade leaves it that was cut short before its one boot. */
async function leftBehind(): Promise<UpgradeMachine> {
  const machine = createUpgradeMachine();
  machine.loader.putImage(TO_ENTRY, IMAGE);
  assert.ok((await armReturn(machine.ports, 1_000_000)).ok);
  const entries = { from_entry: FROM_ENTRY, to_entry: TO_ENTRY };
  const record = { operation: "op", ...entries, boot_id: "b", uptime_s: 60 };
  assert.ok((await writeUpgrade(machine.disk, record)).ok);
  machine.loader.variables.set("LoaderEntryOneShot", TO_ENTRY);
  return machine;
}

const isLeft = async ({ disk }: UpgradeMachine) =>
  await isReturnThere({ disk }) || disk.text(UPGRADE_FILE) !== null;

Deno.test("settleUpgrade: where nothing is left it writes nothing", async () => {
  const { ports, disk } = createUpgradeMachine();
  const context = await openUpgradeAgent(ports);
  disk.forgetWrites();
  await settleUpgrade(context);
  assert.deepEqual(disk.writes(), []);
});

Deno.test("settleUpgrade: in the old image nothing of it stays, and nothing starts the new one", async () => {
  const machine = await leftBehind();
  await settleUpgrade(await openUpgradeAgent(machine.ports));
  assert.equal(await isLeft(machine), false);
  assert.deepEqual(imagesOf(machine), [OLDER_ENTRY, FROM_ENTRY]);
  assert.equal(machine.loader.variables.get("LoaderEntryOneShot"), undefined);
});

Deno.test("settleUpgrade: an upgrade under way is left alone", async () => {
  const machine = await leftBehind();
  const context = await openUpgradeAgent(machine.ports);
  const operation = begun(
    { id: "op", kind: "cluster.upgrade", params: {} },
    "2026-01-01T00:00:00Z",
  );
  await context.store.commit((state) => ({ ...state, operation }));
  await settleUpgrade(context);
  assert.equal(await isLeft(machine), true);
  assert.ok(imagesOf(machine).includes(TO_ENTRY));
});

Deno.test("settleUpgrade: an image on trial that nobody remembers is left by the return", async () => {
  const machine = await leftBehind();
  machine.disk.crash("kept");
  machine.reboot();
  assert.equal(machine.boots.at(-1), TO_ENTRY);
  await settleUpgrade(await openUpgradeAgent(machine.ports));
  assert.equal(await isLeft(machine), true);
});

Deno.test("settleUpgrade: an image that is the default stays, and the return goes", async () => {
  const machine = await leftBehind();
  machine.loader.variables.set("LoaderEntryDefault", TO_ENTRY);
  machine.disk.crash("kept");
  machine.reboot();
  await settleUpgrade(await openUpgradeAgent(machine.ports));
  assert.equal(await isLeft(machine), false);
  assert.deepEqual(imagesOf(machine), [OLDER_ENTRY, FROM_ENTRY, TO_ENTRY]);
});
