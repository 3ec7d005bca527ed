import assert from "node:assert/strict";
import { treeOf } from "./tree.ts";
import { waitFor } from "./wait.ts";
import { inWorld, type World } from "./world.ts";

/** Cycles in which nothing may happen. */
const CYCLES = 30;

/** Where the stand-in for systemctl writes down its calls: the only thing that may change. */
const CALLS = "/var/lib/fake-systemd/calls";

Deno.test("run: an idle cycle writes no file and nothing to the Kubernetes API, and only syncs", async () => {
  await inWorld(async (world) => {
    await world.startSynced();
    // With the second sync from now on the cycle before it is over, and with it all that was to do.
    await syncs(world, 2);
    const files = await filesOf(world);
    const seen = world.requests().length;
    world.node.api()?.forgetRequests();

    await syncs(world, CYCLES);
    assert.equal(await filesOf(world), files);
    const requests = world.requests().slice(seen);
    assert.ok(requests.length >= CYCLES);
    assert.deepEqual(
      requests.filter(({ method, path, status }) =>
        method !== "POST" || path !== "/agent/v1/sync" || status !== 200
      ),
      [],
    );
    assert.equal(world.node.api()?.writes(), 0);
    // The proof needs a witness: the API was there to be written to, and was asked in every cycle.
    const ready = world.node.api()?.requests().filter(({ path }) => path === "/readyz") ?? [];
    assert.ok(ready.length >= CYCLES - 1, `${ready.length} looks at /readyz`);
  });
});

/** Waits for `count` more syncs. */
async function syncs(world: World, count: number): Promise<void> {
  const wanted = world.requests("/sync").length + count;
  await waitFor(`${count} syncs`, () => world.requests("/sync").length >= wanted);
}

async function filesOf({ root }: World): Promise<string> {
  const lines = (await treeOf(root)).split("\n").filter((line) => !line.startsWith(`${CALLS} `));
  assert.ok(lines.some((line) => line.startsWith("/var/lib/pbx-agent/state.json ")));
  return lines.join("\n");
}
