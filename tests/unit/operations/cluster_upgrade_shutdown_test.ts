import assert from "node:assert/strict";
import { operate } from "../../../core/agent/operate.ts";
import { takeOffer } from "../../../core/agent/take_offer.ts";
import { fail } from "../../../core/result.ts";
import { UPGRADE_FILE } from "../../../core/state/paths.ts";
import { imagesOf } from "./upgrade_case.ts";
import {
  createUpgradeMachine,
  FROM_ENTRY,
  OLDER_ENTRY,
  openUpgradeAgent,
  TO,
  TO_ENTRY,
} from "./upgrade_world.ts";

Deno.test("cluster.upgrade: systemctl that the shutdown itself ends is no reboot that failed", async () => {
  const machine = createUpgradeMachine();
  const controller = new AbortController();
  Object.assign(machine.ports.systemd, {
    // The unit's processes are all ended at once: systemctl is gone a moment before the agent is told.
    reboot() {
      void machine.clock.sleep(100).then(() => controller.abort());
      const program = "/usr/bin/systemctl";
      return Promise.resolve(fail({ code: "failed", program, message: "ended by SIGTERM" }));
    },
  });
  const context = await openUpgradeAgent(machine.ports, controller.signal);
  const offer = { id: "op_up", kind: "cluster.upgrade", params: { release: TO } };
  await takeOffer(context, offer, true);
  let ended = false;
  const run = operate(context, () => {}).finally(() => ended = true);
  while (!ended && await machine.clock.advanceToNext());
  await run;

  const { operation } = context.store.state;
  assert.deepEqual([operation?.step, operation?.result], ["reboot", undefined]);
  assert.equal(machine.loader.variables.get("LoaderEntryOneShot"), TO_ENTRY);
  assert.deepEqual(imagesOf(machine), [OLDER_ENTRY, FROM_ENTRY, TO_ENTRY]);
  assert.notEqual(machine.disk.text(UPGRADE_FILE), null);
});
