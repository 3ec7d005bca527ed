import assert from "node:assert/strict";
import { inSeconds, makeOwner, type Owner } from "../../cli/demo/owner.ts";
import type { JsonObject } from "../../core/json.ts";
import { inWorld, type World } from "./world.ts";

/** OpenSSH signs here as the owner does; where it is not installed such a test is left out. */
export const SSH_KEYGEN = "/usr/bin/ssh-keygen";

/** A test in a world whose config.yaml pins an owner's key and the place of the snapshots. */
export function ownerTest(name: string, fn: (world: World, owner: Owner) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !isFile(SSH_KEYGEN),
    async fn() {
      const owner = await makeOwner();
      assert.ok(owner !== null);
      try {
        await inWorld(async (world) => {
          const trust = `approval_keys: ["${owner.publicKey}"]\ns3_target: ${targetOf(world)}\n`;
          await world.write("/etc/pbx-agent/config.yaml", world.configYaml + trust);
          await fn(world, owner);
        });
      } finally {
        await owner.remove();
      }
    },
  });
}

function targetOf(world: World): string {
  const document = world.running.portal.state.clusters.get("demo")?.desired.document as {
    secrets: { etcd_s3: JsonObject };
  };
  const { endpoint, bucket, region, folder } = document.secrets.etcd_s3;
  return JSON.stringify({ endpoint, bucket, region, folder });
}

/** A text that the portal shows for an approval. */
export interface ShownText {
  readonly what: string;
  readonly text: string;
}

/** What the portal shows for the approvals of `ask`, and the texts signed by the owner, as they are offered. */
export async function approve(world: World, owner: Owner, ask: JsonObject) {
  const node = world.agents()[0]?.nodeName ?? "";
  const expires = inSeconds(3_600);
  const { texts } = await world.admin("POST", "/clusters/demo/approval-text", {
    node,
    expires,
    ...ask,
  }) as unknown as { texts: readonly ShownText[] };
  const [shown = { what: "", text: "" }, ...others] = texts;
  const signature = await owner.sign(shown.text);
  return { shown, others, approval: { node, expires, signature } };
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
