import assert from "node:assert/strict";
import { fakeImage } from "../../../adapters/fake/boot_loader.ts";
import { partPath } from "../../../core/host/slots.ts";
import { RETURN_MARK_FILE, RETURN_TIMER, SYSTEMD_DIRECTORY } from "../../../core/state/paths.ts";
import type { CutCase, Outcome } from "./cut_matrix.ts";
import {
  FROM,
  FROM_ENTRY,
  openUpgradeAgent,
  TO,
  TO_ENTRY,
  type UpgradeMachine,
} from "./upgrade_world.ts";

/** The names in the images' folder. */
export function imagesOf({ disk }: UpgradeMachine): readonly string[] {
  const folder = "/boot/EFI/Linux/";
  return disk.paths().filter((path) => path.startsWith(folder))
    .map((path) => path.slice(folder.length));
}

/** Nothing of the return is left to restart the node. */
export function assertDisarmed({ disk, systemd }: UpgradeMachine): void {
  for (const path of [RETURN_MARK_FILE, `${SYSTEMD_DIRECTORY}/${RETURN_TIMER}`]) {
    assert.equal(disk.text(path), null, path);
  }
  assert.notEqual(systemd.units.get(RETURN_TIMER)?.state, "active");
}

/**
 * Whatever happened to an upgrade: the default is an image that passed its gate or the one before, that
 * one is whole and still there, and both this boot and any other one are in the default.
 */
export function assertSafe(machine: UpgradeMachine, { result, journal }: Outcome): void {
  const pinned = machine.loader.variables.get("LoaderEntryDefault");
  const gate = journal.steps.findLast(({ name }) => name === "health_gate");
  if (pinned === TO_ENTRY) {
    assert.equal(gate?.state, "succeeded", "the default never passed its gate");
    assert.equal(machine.disk.text(`/boot/EFI/Linux/${TO_ENTRY}`), textOf(fakeImage(TO)));
  } else if (pinned !== undefined) assert.equal(pinned, FROM_ENTRY);
  assert.equal(machine.disk.text(`/boot/EFI/Linux/${FROM_ENTRY}`), textOf(fakeImage(FROM)));
  const story = `${JSON.stringify(result)} after ${machine.boots}`;
  assert.equal(result.state === "succeeded", pinned === TO_ENTRY, story);
  assert.equal(machine.boots.at(-1), pinned ?? FROM_ENTRY, story);
  assertDisarmed(machine);
  const orders = machine.systemd.calls.filter((call) => call === "reboot").length;
  assert.ok(orders <= 2, `${orders} reboots were ordered: ${story}`);
  if (result.state === "succeeded") assert.deepEqual(imagesOf(machine), [FROM_ENTRY, TO_ENTRY]);
  machine.disk.crash("lost");
  machine.reboot();
  assert.equal(machine.boots.at(-1), pinned ?? FROM_ENTRY, story);
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/**
 * Whether an outcome is that of an order to reboot that was cut off between its note and systemd: it is not
 * given again, because nobody can tell that from an order that was carried out.
 */
export function isLostOrder({ result, calls }: Outcome): boolean {
  return result.code === "unclear" && !calls.some(({ name }) => name === "systemd.reboot");
}

/** An upgrade on such a machine, whose download can be half done. It ends safe, whatever `also` asks for. */
export function upgradeCase(
  setUp: () => UpgradeMachine,
  also: (machine: UpgradeMachine, outcome: Outcome) => void | Promise<void> = () => {},
): CutCase<UpgradeMachine> {
  return {
    setUp,
    offer: () => ({ id: "op_up", kind: "cluster.upgrade", params: { release: TO } }),
    open: openUpgradeAgent,
    halves: {
      "artifacts.fetch": ({ disk }) => {
        disk.put(partPath("/boot", TO_ENTRY), fakeImage(TO).slice(0, 30), 0o777);
      },
    },
    mayEnd: ["succeeded", "failed"],
    async assertEnd(machine, outcome) {
      await also(machine, outcome);
      assertSafe(machine, outcome);
    },
  };
}
