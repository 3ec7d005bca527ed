import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import { inWorld } from "./world.ts";

/** OpenSSH signs here as the owner does; where it is not installed this test is left out. */
const SSH_KEYGEN = "/usr/bin/ssh-keygen";

async function keygen(...args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command(SSH_KEYGEN, { args }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
}

Deno.test({
  name: "approval: a restore waits for the owner, who signs the portal's text with ssh-keygen",
  ignore: !exists(SSH_KEYGEN),
  async fn() {
    const folder = await Deno.makeTempDir();
    const key = `${folder}/id`;
    await keygen("-q", "-t", "ed25519", "-N", "", "-C", "ada@example.com", "-f", key);
    await inWorld(async (world) => {
      const { operations, clusters } = world.running.portal.state;
      const document = clusters.get("demo")?.desired.document as {
        secrets: { etcd_s3: JsonObject };
      };
      const { endpoint, bucket, region, folder: at } = document.secrets.etcd_s3;
      const target = JSON.stringify({ endpoint, bucket, region, folder: at });
      const publicKey = (await Deno.readTextFile(`${key}.pub`)).trim();
      const trust = `approval_keys: ["${publicKey}"]\ns3_target: ${target}\n`;
      await world.write("/etc/pbx-agent/config.yaml", world.configYaml + trust);
      const agent = await world.startSynced();

      const params = { snapshot: "nightly-1", from: "local" };
      const offer = { id: "restore-1", kind: "cluster.restore", params };
      await world.admin("POST", "/clusters/demo/operations", offer);
      await world.until("the condition", async () => {
        const { conditions } = await world.state() as unknown as { conditions: { code: string }[] };
        return conditions.some(({ code }) => code === "approval_missing") ? true : null;
      });
      assert.equal((await world.state())["operation"], null);

      const expires = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z/, "Z");
      const [agentOfNode] = world.agents();
      const node = agentOfNode?.nodeName ?? "";
      const shown = await world.admin("POST", "/clusters/demo/approval-text", {
        node,
        expires,
        operation: "restore-1",
      }) as unknown as { texts: { text: string }[] };
      const file = `${folder}/approval.txt`;
      await Deno.writeTextFile(file, shown.texts[0]?.text ?? "");
      await keygen("-Y", "sign", "-n", "pbx-approval", "-f", key, file);
      const signature = await Deno.readTextFile(`${file}.sig`);
      await world.admin("POST", "/clusters/demo/operations/restore-1/approvals", {
        approvals: [{ node, expires, signature }],
      });
      // It begins, and finds that there is no such snapshot.
      const result = await world.until(
        "the result",
        () => operations.find(({ id }) => id === "restore-1")?.result ?? null,
      );
      assert.equal(result.step, "stop_k3s", JSON.stringify(result));
      assert.equal(result.code, "checks_failed");
      await agent.stop();
    });
    await Deno.remove(folder, { recursive: true });
  },
});

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
