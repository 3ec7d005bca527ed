import assert from "node:assert/strict";
import { RETURN_MARK_FILE, RETURN_TIMER } from "../../core/state/paths.ts";
import type { Program } from "./program.ts";
import {
  askFor,
  boots,
  entryOf,
  imagesOf,
  inUpgradeWorld,
  reboots,
  reportNode,
  resultOf,
  variable,
} from "./upgrade_world.ts";
import type { World } from "./world.ts";

/** The gate is so short that what is not healthy returns at once. */
const FLAGS = ["--gate", "12"];

/** Waits until the agent restarts the machine, which then starts an image, and the agent in it. */
async function restart(
  world: World,
  agent: Program,
  count: number,
  into: string,
): Promise<Program> {
  await world.until(`reboot ${count}`, async () => await reboots(world) >= count);
  agent.kill("SIGKILL");
  await agent.ended();
  await boots(world, into);
  return world.start({ flags: FLAGS });
}

Deno.test("upgrade: a good image is kept and a bad one left, across reboots of the machine", async () => {
  await inUpgradeWorld(async (world) => {
    let agent = await world.startSynced();
    await agent.stop();
    agent = world.start({ flags: FLAGS });
    await world.until("a desired state without a bucket", async () => {
      const state = await world.state().catch(() => null);
      return state !== null && !JSON.stringify(state["desired"]).includes("etcd_s3");
    });

    await askFor(world, "up-1", "1.1.0");
    await world.until("reboot 1", async () => await reboots(world) >= 1);
    assert.equal(await variable(world, "LoaderEntryOneShot"), entryOf("1.1.0"));
    assert.equal(await variable(world, "LoaderEntryDefault"), entryOf("1.0.0"));
    assert.match(await world.read(`/etc/systemd/system/${RETURN_TIMER}`), /^OnBootSec=72s$/m);
    const text = (await world.cli("status", "--text")).stdout;
    assert.match(text, /the next boot tries pbx-1\.1\.0-amd64\.efi, once/);

    agent = await restart(world, agent, 1, "1.1.0");
    reportNode(world, true);
    const good = await world.until("the result of up-1", () => resultOf(world, "up-1"));
    assert.deepEqual(good, {
      state: "succeeded",
      output: { from: "1.0.0", to: "1.1.0", boot_entry: entryOf("1.1.0") },
    });
    assert.equal(await variable(world, "LoaderEntryDefault"), entryOf("1.1.0"));
    assert.deepEqual(await imagesOf(world), [entryOf("1.0.0"), entryOf("1.1.0")]);
    await assert.rejects(world.read(RETURN_MARK_FILE));

    await askFor(world, "up-2", "1.2.0");
    agent = await restart(world, agent, 2, "1.2.0");
    reportNode(world, false);
    agent = await restart(world, agent, 3, "1.1.0");
    const bad = await world.until("the result of up-2", () => resultOf(world, "up-2"));
    assert.deepEqual([bad.state, bad.step, bad.code], ["failed", "health_gate", "gate_failed"]);
    // Where the gate ends before the kubelet that the test plays has reported, it says what it saw until then.
    assert.match(
      String(bad.message),
      /runs pbx-1\.1\.0.* as before: .*Node demo-1 (is not Ready|runs k3s)/,
    );
    assert.deepEqual(await imagesOf(world), [entryOf("1.0.0"), entryOf("1.1.0")]);
    assert.equal(await variable(world, "LoaderEntryDefault"), entryOf("1.1.0"));
    await agent.stop();
  });
});
