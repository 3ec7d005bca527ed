import type { FakeNode } from "../../adapters/fake/fake_node.ts";
import type { AdminClient } from "./admin.ts";
import { startProcess } from "./process.ts";
import type { Story } from "./story.ts";
import { waitFor } from "./wait.ts";

/** What the steps about operations work with. */
export interface OperationStage {
  readonly story: Story;
  readonly node: FakeNode;
  readonly admin: AdminClient;
}

/** A snapshot, a restore and new keys: what the portal can ask for, and what comes of it. */
export async function runOperationSteps({ story, node, admin }: OperationStage): Promise<void> {
  const run = async (id: string, kind: string, params: Record<string, unknown>) => {
    await admin.operate(id, kind, params);
    const { result, events } = await waitFor(`the result of ${kind}`, async () => {
      const operation = await admin.operation(id);
      return operation["result"] === null ? null : operation;
    }, 60_000);
    for (const event of events) {
      if (event.state === "progress") continue;
      const why = event.message === undefined ? "" : `: ${event.message}`;
      story.say(`event ${event.seq}: ${event.step} ${event.state}${why}`);
    }
    if (result.state !== "succeeded") throw new Error(`${kind} ${result.state}: ${result.message}`);
    return result.output;
  };

  story.step("The portal asks for a snapshot");
  story.say("This machine has no bucket to believe, so the desired state names none from now on.");
  await admin.desire({ secrets: { etcd_s3: null } });
  await waitFor("the desired state without a bucket", async () => {
    const state = await Deno.readTextFile(`${node.root}/var/lib/pbx-agent/state.json`);
    return !("etcd_s3" in JSON.parse(state).desired.state.secrets);
  });
  const saved = await run("demo-save", "snapshot.save", {});
  story.show("output", JSON.stringify(saved, null, 2));

  story.step("The worst hour of the month: the cluster goes back to that snapshot");
  await run("demo-restore", "cluster.restore", { snapshot: saved["file"], from: "local" });
  const shown = ["cli/lab.ts", "operations", "demo-restore", "--root", node.root];
  story.show("pbx-agent operations demo-restore", await startProcess(shown).wholeOutput());

  story.step("The agent's own keys are replaced");
  const before = (await admin.report())?.agent.keys_created_at;
  await run("demo-rotate", "agent.rotate_key", {});
  await waitFor("a report with the new keys", async () => {
    const after = (await admin.report())?.agent.keys_created_at;
    return after !== before && after;
  });
  story.say("the portal knows the new keys only, and what is stored is sealed to them");
}
