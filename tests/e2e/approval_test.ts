import assert from "node:assert/strict";
import { approve, ownerTest } from "./owner.ts";

ownerTest(
  "approval: a restore waits for the owner, who signs the portal's text with ssh-keygen",
  async (world, owner) => {
    const { operations } = world.running.portal.state;
    const agent = await world.startSynced();

    const params = { snapshot: "nightly-1", from: "local" };
    const offer = { id: "restore-1", kind: "cluster.restore", params };
    await world.admin("POST", "/clusters/demo/operations", offer);
    await world.until("the condition", async () => {
      const { conditions } = await world.state() as unknown as { conditions: { code: string }[] };
      return conditions.some(({ code }) => code === "approval_missing") ? true : null;
    });
    assert.equal((await world.state())["operation"], null);

    const { approval } = await approve(world, owner, { operation: "restore-1" });
    await world.admin("POST", "/clusters/demo/operations/restore-1/approvals", {
      approvals: [approval],
    });
    // It begins, and finds that there is no such snapshot.
    const result = await world.until(
      "the result",
      () => operations.find(({ id }) => id === "restore-1")?.result ?? null,
    );
    assert.equal(result.step, "stop_k3s", JSON.stringify(result));
    assert.equal(result.code, "checks_failed");
    await agent.stop();
  },
);
