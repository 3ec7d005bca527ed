import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import { approve, ownerTest, SSH_KEYGEN } from "./owner.ts";
import { secretsIn, secretsOf } from "./secrets.ts";
import { treeOf } from "./tree.ts";
import { inWorld, type World } from "./world.ts";

const HISTORY = "/var/lib/pbx-agent/history.jsonl";

/** What `history --json` prints; fails where it changes a file, tells a secret or ends badly. */
async function historyOf(world: World, ...flags: string[]): Promise<JsonObject[]> {
  const secrets = await secretsOf(world);
  const before = await treeOf(world.root);
  const printed = await world.cli("history", "--json", ...flags);
  assert.deepEqual([printed.code, printed.stderr], [0, ""]);
  assert.deepEqual(secretsIn(printed.stdout, secrets), []);
  assert.equal(await treeOf(world.root), before);
  return JSON.parse(printed.stdout);
}

const wordsOf = (entries: readonly JsonObject[]) => entries.map(({ what }) => what);

ownerTest(
  "history: who ordered a restore, who approved it, and what came of it",
  async (world, owner) => {
    const { operations } = world.running.portal.state;
    const agent = await world.startSynced();
    const params = { snapshot: "nightly-1", from: "local" };
    const offer = { id: "restore-1", kind: "cluster.restore", params };
    await world.admin("POST", "/clusters/demo/operations", offer);
    const { approval: given } = await approve(world, owner, { operation: "restore-1" });
    await world.admin("POST", "/clusters/demo/operations/restore-1/approvals", {
      approvals: [given],
    });
    await world.until(
      "the result",
      () => operations.find(({ id }) => id === "restore-1")?.result ?? null,
    );
    // Beside the running agent too.
    assert.equal((await world.cli("history")).code, 0);
    await agent.stop();

    const entries = await historyOf(world);
    assert.deepEqual(wordsOf(entries), [
      "enrolled",
      "trust_changed",
      "desired_accepted",
      "operation_begun",
      "operation_ended",
    ]);
    const [, , accepted, begun, ended] = entries;
    const { who, key: signer } = accepted?.["by"] as JsonObject;
    assert.equal(who, "portal");
    assert.match(String(signer), /^[0-9a-f]{16}$/);
    assert.equal(begun?.["params"], '{"from":"local","snapshot":"nightly-1"}');
    const [approval] = begun?.["approvals"] as JsonObject[];
    assert.equal(approval?.["owner"], "ada@example.com");
    const listed = await new Deno.Command(SSH_KEYGEN, { args: ["-l", "-f", owner.publicKeyFile] })
      .output();
    assert.ok(
      new TextDecoder().decode(listed.stdout).includes(String(approval?.["fingerprint"])),
    );
    assert.deepEqual([ended?.["state"], ended?.["code"]], ["failed", "checks_failed"]);

    const text = (await world.cli("history")).stdout;
    assert.match(
      text,
      /portal, key [0-9a-f]{16} +operation restore-1 \(cluster\.restore\) begun/,
    );
    assert.match(text, /approved by ada@example\.com, key SHA256:/);
    const { mode } = await Deno.stat(world.root + HISTORY);
    assert.equal((mode ?? 0) & 0o777, 0o600);
  },
);

Deno.test("history: a half line, a foreign file, a time; and on a machine without one", async () => {
  await inWorld(async (world) => {
    assert.deepEqual(await historyOf(world), []);
    assert.equal((await world.cli("history")).stdout, "nothing is in the history\n");
    const agent = await world.startSynced();
    await agent.stop();
    const words = wordsOf(await historyOf(world));
    assert.deepEqual(words, ["enrolled", "trust_changed", "desired_accepted"]);
    const path = world.root + HISTORY;
    const whole = await Deno.readTextFile(path);

    assert.deepEqual(wordsOf(await historyOf(world, "--since", "1h")), words);
    assert.deepEqual(await historyOf(world, "--since", "2999-01-01"), []);
    const wrong = await world.cli("history", "--since", "yesterday");
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /--since yesterday: write a span/);

    // A power cut in the middle of a line: the next start writes that entry again.
    await Deno.writeTextFile(path, whole.slice(0, -30));
    assert.deepEqual(wordsOf(await historyOf(world)), words.slice(0, 2));
    const again = await world.startSynced();
    await again.stop();
    const cut = await world.cli("history", "--json");
    assert.deepEqual(wordsOf(JSON.parse(cut.stdout)), words);
    assert.match(cut.stderr, /1 lines are not readable/);

    const id = String(world.agents()[0]?.id);
    await Deno.writeTextFile(path, whole.replaceAll(id, "agent-of-another-node"));
    const foreign = await world.cli("history");
    assert.equal(foreign.code, 1);
    assert.match(foreign.stderr, /history\.jsonl belongs to agent agent-of-another-node/);
  });
});
