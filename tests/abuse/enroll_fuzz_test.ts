import assert from "node:assert/strict";
import { WORDS } from "./documents.ts";
import { fuzz, SEED } from "./fuzz.ts";
import { footprintOf } from "./footprint.ts";
import { assertHarmless, keysOf, MAX_BODY } from "./live.ts";
import { mutate } from "./mutate.ts";
import { judgeEnroll } from "./oracle.ts";
import { json, raw } from "./replies.ts";
import { createWorld } from "./world.ts";

const WHOM = { cluster: "orchard", node: "orchard-1" };

Deno.test("runAgent: 150 spoiled answers to the enrollment, each followed by good ones", async () => {
  let taken = 0;
  await fuzz("agent, enroll", 150, async (dice, index) => {
    const world = createWorld(SEED + index);
    let bytes = new Uint8Array();
    world.answerWith(({ question }) => {
      if (question !== "enroll" || bytes.length > 0) return undefined;
      bytes = new Uint8Array(mutate(dice, world.documents().enrollAnswer(), WORDS));
      return raw(200, bytes);
    });
    world.start();
    await world.until(() => world.asked.length > 0);
    await world.clock.settle();
    const verdict = bytes.length > MAX_BODY ? "too large" : judgeEnroll(bytes, keysOf(world), WHOM);
    const identity = JSON.parse(world.disk.text("/var/lib/pbx-agent/identity.json") ?? "{}");
    const bootstrap = world.disk.text("/var/lib/pbx-agent/bootstrap.json");
    if (verdict === "usable") {
      taken++;
      assert.equal(identity.binding?.cluster_id, WHOM.cluster);
    } else {
      assert.equal(bootstrap, null, `${verdict}: stored all the same`);
      assert.equal(identity.binding, null, `${verdict}: bound all the same`);
      assert.equal(footprintOf(world).config, null);
      assert.match(world.disk.text("/etc/pbx-agent/config.yaml") ?? "", /enrollment_token/);
    }
    await assertHarmless(world);

    // It goes on: with what it took, or with the good answer to its next try.
    const revision = index + 1;
    const good = world.documents().syncAnswer(revision, true);
    world.answerWith(({ question }) => question === "sync" ? json(200, good) : undefined);
    const accepted = () =>
      JSON.parse(footprintOf(world).desired)?.state.revision === revision &&
      (world.disk.text("/var/lib/pbx-agent/state.json") ?? "").includes('"first_start": "done"');
    assert.ok(await world.until(accepted), "the agent does not go on");
    await assertHarmless(world);
    await world.stop();
  });
  assert.ok(taken > 5 && taken < 100, `${taken} of 150 were valid all the same`);
});
