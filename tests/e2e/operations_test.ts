import assert from "node:assert/strict";
import type { QueuedOperation } from "../../adapters/portal/state.ts";
import { secretsIn, secretsOf } from "./secrets.ts";
import { inWorld, type World } from "./world.ts";

/** Queues an operation and waits for its result at the portal. */
async function carryOut(world: World, id: string, kind: string, params = {}) {
  await world.admin("POST", "/clusters/demo/operations", { id, kind, params });
  return await world.until(`the result of ${id}`, () => queued(world, id)?.result ?? null);
}

function queued(world: World, id: string): QueuedOperation | undefined {
  return world.running.portal.state.operations.find((operation) => operation.id === id);
}

Deno.test("operations: carried out, then listed and told in detail beside the running agent and after it", async () => {
  await inWorld(async (world) => {
    assert.equal((await world.cli("operations")).stdout, "no operations in the last 30 days\n");
    const agent = await world.startSynced();
    const [before] = world.agents().map(({ keys }) => keys.signing);

    const odd = await carryOut(world, "dance-1", "node.dance");
    assert.equal(odd.state, "unsupported");
    const rotated = await carryOut(world, "rotate-1", "agent.rotate_key");
    assert.equal(rotated.state, "succeeded", JSON.stringify(rotated));
    const [after] = world.agents();
    assert.notEqual(after?.keys.signing, before);
    assert.equal(after?.previous, null);

    // The portal has the result a moment before the agent has stored its answer.
    await world.until("the result to be acknowledged", async () => {
      return !(await world.cli("operations")).stdout.includes("not reported yet");
    });
    const secrets = await secretsOf(world);
    for (const round of ["beside the agent", "after it"]) {
      const list = await world.cli("operations");
      assert.deepEqual([list.code, list.stderr], [0, ""], round);
      assert.match(list.stdout, /^begun \(UTC\) +id +kind +state +step or code\n/);
      assert.match(list.stdout, /rotate-1 +agent\.rotate_key +succeeded +confirm$/m);
      assert.match(list.stdout, /dance-1 +node\.dance +unsupported$/m);
      assert.ok(list.stdout.indexOf("rotate-1") < list.stdout.indexOf("dance-1"), "newest first");

      const one = await world.cli("operations", "rotate-1");
      assert.match(one.stdout, /^rotate-1: agent\.rotate_key, succeeded$/m);
      for (const step of ["generate", "register", "confirm"]) {
        assert.match(one.stdout, new RegExp(`^  ${step} +[0-9:]{8} to [0-9:]{8} succeeded$`, "m"));
      }
      assert.match(one.stdout, /^ {2}keys_created_at +20/m);

      const json = JSON.parse((await world.cli("operations", "--json")).stdout);
      assert.deepEqual(
        json.map(({ id, state }: QueuedOperation & { state: string }) => [id, state]),
        [
          ["rotate-1", "succeeded"],
          ["dance-1", "unsupported"],
        ],
      );
      const detail = JSON.parse((await world.cli("operations", "dance-1", "--json")).stdout);
      assert.deepEqual(detail.steps, []);
      assert.match(detail.result.message, /no operation "node\.dance"/);
      assert.deepEqual(detail.log, []);
      assert.deepEqual(secretsIn(list.stdout + one.stdout + JSON.stringify(json), secrets), []);
      if (round === "beside the agent") await agent.stop();
    }

    const unknown = await world.cli("operations", "no-such-one");
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /no operation 'no-such-one' here; known: rotate-1, dance-1/);
  });
});

Deno.test("operations: access is given and taken back on the node's API", async () => {
  await inWorld(async (world) => {
    await world.startSynced();
    world.node.api()?.write("/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "kube-root-ca.crt", namespace: "kube-system" },
      data: { "ca.crt": "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n" },
    }, "root-ca-cert-publisher");
    const issued = await carryOut(world, "issue-1", "access.issue", {
      person: "ada",
      role: "view",
      lifetime_s: 600,
      recipient: btoa("k".repeat(32)),
    });
    assert.equal(issued.state, "succeeded", JSON.stringify(issued));
    assert.deepEqual(Object.keys(issued.output ?? {}).sort(), ["expires_at", "sealed_kubeconfig"]);
    const revoked = await carryOut(world, "revoke-1", "access.revoke", { person: "ada" });
    assert.deepEqual(revoked, { state: "succeeded", output: { deleted: 1 } });
  });
});
