import assert from "node:assert/strict";
import type { Image } from "../../lab/vm/image.ts";
import { type OperationResult, waitForReport } from "./operation.ts";
import { FIRST_K3S_VERSION, NEW_K3S_VERSION } from "./k3s_stand_in.ts";
import { lookAt } from "./witness.ts";
import { FIRST_RELEASE, type World } from "./world.ts";

/** The operation ended so, and if it did not, with what it says of itself. */
export function assertEnds(result: OperationResult, state: string, code?: string): void {
  const { log_tail = [], ...rest } = result;
  const said = `${JSON.stringify(rest)}\n${log_tail.join("\n")}`;
  assert.equal(result.state, state, said);
  assert.equal(result.code, code, said);
}

/**
 * The serial console, the boot loader, the ESP and the agent's own report say the same: the first of
 * `images` runs and is the default, these are all that there are, and nothing of an upgrade is left.
 */
export async function assertRuns(world: World, images: readonly Image[]): Promise<void> {
  const [running] = images;
  assert.ok(running);
  const report = await waitForReport(world);
  const { boot_entry, boot_image_sha256, k3s } = report.node;
  const isFirst = running.version === FIRST_RELEASE;
  const k3sVersion = isFirst ? FIRST_K3S_VERSION : NEW_K3S_VERSION;
  assert.deepEqual([boot_entry, boot_image_sha256], [running.entry, running.sha256]);
  assert.equal(k3s.version, k3sVersion);
  assert.deepEqual(report.conditions, []);
  const { pinned, ...seen } = await lookAt(world);
  assert.deepEqual(seen, {
    serial: running.version,
    oneShot: null,
    images: Object.fromEntries(images.map(({ entry, sha256 }) => [entry, sha256])),
    others: [],
    returnUnits: [],
  });
  // Before its first upgrade nobody has pinned anything, and the only image is the default all the same.
  const isUntouched = images.length === 1 && pinned === null;
  if (!isUntouched) assert.equal(pinned, running.entry);
}

/** The end of the serial console, for a failure's message. */
export function lastWords({ vm, folder }: World): string {
  return [
    `the serial console's end (all of it: ${folder}/serial.log):`,
    ...vm.console.lines.slice(-60),
  ]
    .map((line) => line.slice(0, 300)).join("\n");
}
