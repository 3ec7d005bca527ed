import assert from "node:assert/strict";
import { createFakeBoot } from "../../../adapters/fake/boot.ts";
import { statusText } from "../../../cli/status_text.ts";
import { readSlots } from "../../../core/agent/slots_view.ts";
import { readStatus } from "../../../core/agent/status.ts";
import { STATE_FILE } from "../../../core/state/paths.ts";
import {
  createUpgradeMachine,
  FROM,
  FROM_ENTRY,
  IMAGE,
  OLDER_ENTRY,
  TO,
  TO_ENTRY,
  type UpgradeMachine,
} from "../operations/upgrade_world.ts";

/** The machine in the middle of its gate, by what is on its disk and in its variables. */
function onTrial(): UpgradeMachine {
  const machine = createUpgradeMachine();
  machine.loader.putImage(TO_ENTRY, IMAGE);
  machine.loader.variables.set("LoaderEntryDefault", FROM_ENTRY);
  machine.loader.variables.set("LoaderEntryOneShot", TO_ENTRY);
  machine.reboot();
  const state = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
  const plan = { from: FROM, to: TO, from_entry: FROM_ENTRY, boot_entry: TO_ENTRY };
  state.operation = {
    id: "op",
    kind: "cluster.upgrade",
    params: { release: TO },
    begun_at: "2026-01-01T00:00:00Z",
    step: "health_gate",
    steps: [],
    handed: { plan },
    events: [],
    seq: 0,
  };
  machine.disk.put(STATE_FILE, JSON.stringify(state));
  return machine;
}

Deno.test("readSlots: an image on trial, with its release and what comes next; writes nothing", async () => {
  const { disk, loader } = onTrial();
  disk.forgetWrites();
  const slots = await readSlots(disk, loader);
  assert.deepEqual(disk.writes(), []);
  assert.deepEqual(slots?.booted, { entry: TO_ENTRY, release: TO });
  assert.deepEqual(slots?.default, { entry: FROM_ENTRY, release: FROM });
  assert.deepEqual(slots?.others.map(({ entry }) => entry), [OLDER_ENTRY]);
  assert.match(slots?.next ?? "", /is on trial/);
  const facts = { version: "0.1.0", running: true, pid: 1, k3s_unit: "active" };
  const text = statusText({ ...await readStatus(disk), ...facts, slots });
  assert.match(
    text,
    /^image +pbx-1\.1\.0-amd64\.efi \(1\.1\.0\), the default is pbx-1\.0\.0-amd64/m,
  );
  assert.match(text, /^ +beside it pbx-0\.9\.0-amd64\.efi \(0\.9\.0\)$/m);
  assert.match(text, /^ +pbx-1\.1\.0-amd64\.efi is on trial: /m);
});

Deno.test("readSlots: nothing on a machine whose loader cannot be asked", async () => {
  const { disk } = createUpgradeMachine();
  const slots = await readSlots(disk, createFakeBoot());
  assert.equal(slots, null);
  const facts = { version: "0.1.0", running: true, pid: 1, k3s_unit: "active" };
  assert.doesNotMatch(statusText({ ...await readStatus(disk), ...facts, slots }), /^image/m);
});

Deno.test("readSlots: which release an image is of is what an upgrade noted", async () => {
  const { disk, loader } = createUpgradeMachine();
  const state = JSON.parse(disk.text(STATE_FILE) ?? "");
  state.finished["op"] = {
    kind: "cluster.upgrade",
    begun_at: "2026-01-01T00:00:00Z",
    at: "2026-01-01T00:00:00Z",
    steps: [],
    result: { state: "succeeded", output: { to: "1.0.0+k3s1", boot_entry: FROM_ENTRY } },
  };
  disk.put(STATE_FILE, JSON.stringify(state));
  assert.equal((await readSlots(disk, loader))?.booted?.release, "1.0.0+k3s1");
});
