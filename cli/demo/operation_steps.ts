import type { FakeNode } from "../../adapters/fake/fake_node.ts";
import type { AdminClient } from "./admin.ts";
import { inSeconds, makeOwner, type Owner } from "./owner.ts";
import { startProcess } from "./process.ts";
import type { Story } from "./story.ts";
import { waitFor } from "./wait.ts";

/** What the steps about operations work with. */
export interface OperationStage {
  readonly story: Story;
  readonly node: FakeNode;
  readonly admin: AdminClient;
  /** Ends the agent and starts it again, with more lines in its configuration. */
  configure(lines: string): Promise<void>;
}

/** A snapshot, a restore and new keys: what the portal can ask for, and what comes of it. */
export async function runOperationSteps(stage: OperationStage): Promise<void> {
  const { story, node, admin } = stage;
  const run = async (
    id: string,
    kind: string,
    params: Record<string, unknown>,
    approve: () => Promise<void> = () => Promise.resolve(),
  ) => {
    await admin.operate(id, kind, params);
    await approve();
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

  const owner = await pinOwner(stage);
  story.step("The worst hour of the month: the cluster goes back to that snapshot");
  const { file: snapshot, sha256 } = saved;
  await run(
    "demo-restore",
    "cluster.restore",
    { snapshot, from: "local", sha256 },
    async () => {
      if (owner !== null) await approveRestore(stage, owner);
    },
  );
  await owner?.remove();
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

/** The owner's key goes into the configuration; null where OpenSSH is not installed. */
async function pinOwner({ story, configure }: OperationStage): Promise<Owner | null> {
  story.step("The owner's key: from now on the portal alone restores nothing");
  const owner = await makeOwner();
  if (owner === null) {
    story.say("ssh-keygen is not installed here: the demo goes on without approvals");
    return null;
  }
  const lines = `approval_keys: ["${owner.publicKey}"]\n`;
  story.show("added to config.yaml", lines);
  await configure(lines);
  return owner;
}

/** The agent waits for the owner, who reads the text and signs it. */
async function approveRestore({ story, admin }: OperationStage, owner: Owner): Promise<void> {
  const reported = await waitFor("the condition approval_missing in a report", async () => {
    const conditions = (await admin.report())?.conditions ?? [];
    return conditions.find(({ code }) => code === "approval_missing");
  });
  story.say(`reported: ${reported.message}`);
  const expires = inSeconds(3_600);
  const text = await admin.approvalText("demo-restore", expires);
  story.show("what the owner reads and signs with ssh-keygen -Y sign -n pbx-approval", text);
  await admin.approve("demo-restore", expires, await owner.sign(text));
}
