import assert from "node:assert/strict";
import labKeys from "../../fixtures/lab-release-keys.json" with { type: "json" };
import { runProgram } from "./program.ts";
import { inWorld } from "./world.ts";

/** The names under which somebody might try to hand a program its keys. */
const ENVIRONMENT = Object.fromEntries(
  ["RELEASE_KEYS", "PBX_RELEASE_KEYS", "PBX_AGENT_RELEASE_KEYS", "PBX_LAB", "PBX_AGENT_LAB"]
    .map((name) => [name, labKeys.private_keys.join(",")]),
);

Deno.test("version: the shipped entry has no release keys, whatever the environment says", async () => {
  const shipped = await runProgram("cli/main.ts", ["version"], { env: ENVIRONMENT });
  assert.deepEqual([shipped.code, shipped.stderr], [0, ""]);
  assert.match(shipped.stdout, /^pbx-agent [0-9.]+\nrelease keys: none\n$/);
  const lab = await runProgram("cli/lab.ts", ["version"]);
  assert.match(lab.stdout, /^pbx-agent [0-9.]+\nrelease keys: [0-9a-f]{16} [0-9a-f]{16}\n$/);
});

Deno.test("run: the shipped entry refuses every manifest, and nothing hands it a key", async () => {
  await inWorld(async (world) => {
    // Beside the program's own files, where a curious one would look, too.
    for (const path of ["/var/lib/pbx-agent", "/etc/pbx-agent", "/fixtures"]) {
      await world.write(`${path}/lab-release-keys.json`, JSON.stringify(labKeys));
    }
    const agent = world.start({ entry: "cli/main.ts", env: ENVIRONMENT });
    const line = await agent.event("manifest_rejected");
    assert.match(line.message, /release 1\.0\.0/);
    await world.until("the cluster's first start", async () => {
      return (await world.state())["first_start"] === "done";
    });
    const state = await world.state();
    assert.equal(state["desired"], null, "nothing of the desired state is taken over");
    const dropIns = await Deno.stat(`${world.root}/etc/rancher/k3s/config.yaml.d`).catch(() =>
      null
    );
    assert.equal(dropIns, null);
    const status = JSON.parse((await world.cli("status")).stdout);
    assert.deepEqual(status.conditions.map(({ code }: { code: string }) => code).sort(), [
      "manifest_rejected",
      "unsigned_manifest",
    ]);
    await agent.stop();
  }, { config: (yaml) => `${yaml}release_keys: ${labKeys.private_keys[0]}\n` });
});
