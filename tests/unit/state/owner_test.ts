/** Files that were copied from another node decide nothing here. */
import assert from "node:assert/strict";
import { createFakeDisk, type FakeDisk } from "../../../adapters/fake/disk.ts";
import { createFakeRandom } from "../../../adapters/fake/random.ts";
import { createFakeSystemd } from "../../../adapters/fake/systemd.ts";
import type { Ports } from "../../../core/ports/mod.ts";
import { begunStep, markBegun } from "../../../core/operations/begun_mark.ts";
import { heldCluster, placeHold, readHold } from "../../../core/operations/restore/hold.ts";
import { noteOrigin, readOrigin } from "../../../core/operations/restore/origin.ts";
import { isProven, writeReceipt } from "../../../core/operations/restore/receipt.ts";
import { upgradeOf, writeUpgrade } from "../../../core/operations/upgrade/record.ts";
import { noteOrder, readOrders } from "../../../core/operations/upgrade/reboot_orders.ts";
import { newKeys, saveIdentity } from "../../../core/state/identity.ts";
import { EMPTY_STATE } from "../../../core/state/state.ts";
import { loadState, openStore } from "../../../core/state/store.ts";
import { readTrial, writeTrial } from "../../../core/update/trial.ts";

const AT = "2026-01-01T00:00:00Z";

async function become(disk: FakeDisk, agent: string | null): Promise<void> {
  const binding = agent === null ? null : {
    agent_id: agent,
    cluster_id: "demo",
    node_name: "demo-1",
    server_id: "1",
    portal: "https://agents.example.com/agent/v1",
  };
  await saveIdentity(disk, { binding, keys: newKeys(createFakeRandom(1), AT) });
}

function portsOn(disk: FakeDisk): Ports {
  return { disk, systemd: createFakeSystemd() } as Partial<Ports> as Ports;
}

const DATABASE = { etcd: "whole", named: true, sqlite: false, oldDatabases: [], tlsBackups: [] };

/** Each kind of file: written by one agent, and whether another one believes it. */
const FILES: Readonly<
  Record<string, {
    write(disk: FakeDisk): Promise<unknown>;
    isBelieved(disk: FakeDisk): Promise<boolean>;
  }>
> = {
  "update.json": {
    write: (disk) => writeTrial(disk, { from: "0.1.0", to: "0.2.0", armed_at: AT, deadline: AT }),
    async isBelieved(disk) {
      const found = await readTrial(disk);
      return found.ok && found.value.kind === "loaded";
    },
  },
  "upgrade.json": {
    write: (disk) =>
      writeUpgrade(disk, {
        operation: "op",
        from_entry: "a.efi",
        to_entry: "b.efi",
        boot_id: "boot",
        uptime_s: 1,
      }),
    isBelieved: async (disk) => await upgradeOf(disk, "op") !== null,
  },
  "the receipt of a reset": {
    write: (disk) => writeReceipt(disk, "op", "snap", DATABASE as never),
    async isBelieved(disk) {
      const proven = await isProven(disk, "op", DATABASE as never);
      return proven.ok && proven.value;
    },
  },
  "the origin of a restore": {
    write: (disk) => noteOrigin(disk, false),
    isBelieved: async (disk) => await readOrigin(disk) !== null,
  },
  "the cluster of a hold": {
    write: (disk) => placeHold(portsOn(disk), "cluster.restore op holds k3s until", "uid-1"),
    isBelieved: async (disk) => await heldCluster({ disk }) !== null,
  },
  "the mark of a step": {
    write: (disk) => markBegun(disk, "op", "wipe_db"),
    isBelieved: async (disk) => await begunStep(disk, "op") === "wipe_db",
  },
  "the orders of a reboot": {
    write: (disk) => noteOrder(disk, "op", "there"),
    async isBelieved(disk) {
      const { there, back } = await readOrders(disk, "op");
      return there && !back;
    },
  },
};

for (const [name, { write, isBelieved }] of Object.entries(FILES)) {
  Deno.test(`owner: ${name} is believed by the agent that wrote it, and by no other`, async () => {
    const disk = createFakeDisk();
    await become(disk, "agent-a");
    await write(disk);
    assert.equal(await isBelieved(disk), true);
    await become(disk, "agent-b");
    assert.equal(await isBelieved(disk), false);
    await become(disk, null);
    assert.equal(await isBelieved(disk), false, "nor before an enrollment");
    await become(disk, "agent-a");
    assert.equal(await isBelieved(disk), true);
  });
}

Deno.test("owner: what another agent may have begun counts as begun, and k3s stays held", async () => {
  const disk = createFakeDisk();
  await become(disk, "agent-a");
  await markBegun(disk, "op", "wipe_db");
  await placeHold(portsOn(disk), "cluster.restore op holds k3s", "uid-1");
  await become(disk, "agent-b");
  assert.equal(await begunStep(disk, "op"), "unknown");
  assert.equal((await readHold({ disk }))?.trim(), "cluster.restore op holds k3s");
});

Deno.test("owner: state.json of another agent is unreadable and names both", async () => {
  const disk = createFakeDisk();
  await openStore(disk, { ...EMPTY_STATE, agent: "agent-a" }, null).flush();
  for (const owner of ["agent-a", undefined]) {
    const found = await loadState(disk, owner);
    assert.equal(found.ok && found.value.kind, "loaded", String(owner));
  }
  for (const owner of ["agent-b", null]) {
    const found = await loadState(disk, owner);
    assert.ok(found.ok && found.value.kind === "unreadable");
    assert.match(found.value.reason, /belongs to agent agent-a, and this/);
  }
  await openStore(disk, EMPTY_STATE, null).flush();
  const early = await loadState(disk, "agent-b");
  assert.equal(early.ok && early.value.kind, "loaded", "from before the enrollment");
});
