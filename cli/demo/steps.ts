import type { FakeNode } from "../../adapters/fake/fake_node.ts";
import { openAdmin, type Welcome } from "./admin.ts";
import { runAddonSteps } from "./addon_steps.ts";
import { hideSecrets } from "./hide_secrets.ts";
import { runOperationSteps } from "./operation_steps.ts";
import { type DemoProcess, startProcess } from "./process.ts";
import type { Story } from "./story.ts";
import { waitFor } from "./wait.ts";

/** What the steps work with. */
export interface Stage {
  readonly story: Story;
  readonly node: FakeNode;
  readonly portal: Welcome;
}

const CONFIG = "/etc/pbx-agent/config.yaml";
const IDENTITY = "/var/lib/pbx-agent/identity.json";
const STATE = "/var/lib/pbx-agent/state.json";
const SNAPSHOTS = "/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml";

/** The demo itself, in the order that it is seen. */
export async function runSteps({ story, node, portal }: Stage): Promise<void> {
  const admin = openAdmin(portal);
  const file = (path: string) => Deno.readTextFile(node.root + path);
  const show = async (path: string) => story.show(path, hideSecrets(await file(path)));
  const conditionIs = (code: string) =>
    waitFor(`the condition ${code} in a report`, async () => {
      const conditions = (await admin.report())?.conditions ?? [];
      return conditions.find((one) => one.code === code);
    });
  const conditionIsGone = (code: string) =>
    waitFor(`a report without ${code}`, async () => {
      const conditions = (await admin.report())?.conditions;
      return conditions !== undefined && conditions.every((one) => one.code !== code);
    });
  const revisionIs = (revision: number) =>
    waitFor(`revision ${revision} in a report`, async () => {
      return (await admin.report())?.desired.revision === revision;
    });

  story.step("A portal and a new node");
  story.say(`The fake portal listens on ${portal.url}. cloud-init has left one file on the node:`);
  await show(CONFIG);

  story.step("The agent starts: it makes its keys, enrolls, and starts k3s");
  let agent = startAgent(node);
  try {
    await waitFor("k3s and its Secrets", async () => {
      return (await file(STATE).catch(() => "")).includes('"first_start": "done"');
    });
    story.show("what it logged", readableLog(agent.output()));
    await show(IDENTITY);
    story.say("The used token is gone from the configuration, the comment is still there:");
    await show(CONFIG);
    await show("/etc/rancher/k3s/config.yaml");
    for (const name of ["hcloud", "pbx-etcd-s3"]) {
      const secret = node.api()?.read(`/api/v1/namespaces/kube-system/secrets/${name}`);
      const keys = Object.keys((secret?.["data"] ?? {}) as Record<string, unknown>);
      story.say(`Secret kube-system/${name} has the keys ${keys.join(", ")}`);
    }

    story.step("The first sync: the portal knows the node, the node its desired state");
    await revisionIs(1);
    await show(SNAPSHOTS);

    story.step(
      "Another snapshot schedule becomes a drop-in, and a restart of k3s waits for its window",
    );
    await admin.desire({
      host: { snapshots: { schedule: "15 3 * * *" } },
      maintenance: { windows: [] },
    });
    const pending = await waitFor("the pending restart in a report", async () => {
      const report = await admin.report();
      return report?.pending.k3s_restart === true ? report.pending : null;
    });
    await show(SNAPSHOTS);
    story.say(`pending: ${pending.reason}`);
    story.say(
      `systemctl was not asked to restart anything: ${(await restarts(node)).length} restarts`,
    );

    story.step("The maintenance window opens, and k3s is restarted, once");
    await admin.desire({ maintenance: { timezone: "UTC", windows: [always()] } });
    await waitFor("the restart", async () => (await restarts(node)).length > 0);
    story.show("systemctl", (await restarts(node)).join("\n"));

    await runAddonSteps({ story, node, admin });

    story.step("A release whose signature is wrong changes nothing");
    const before = await file(SNAPSHOTS);
    await admin.signBadly("1.1.0");
    await admin.desire({ release: "1.1.0", host: { snapshots: { retention: 99 } } });
    story.say(`reported: ${(await conditionIs("manifest_rejected")).message}`);
    sayUnchanged(story, before, await file(SNAPSHOTS));
    await admin.desire({ release: "1.0.0", host: { snapshots: { retention: 28 } } });
    await conditionIsGone("manifest_rejected");
    story.say("signed as it should be, a release is taken again: the condition is gone");

    story.step("A secret that arrives in clear changes nothing");
    await admin.spoil({ desired: { secrets: { hcloud: { token: "in clear" } } } });
    await admin.desire({ host: { snapshots: { retention: 77 } } });
    story.say(`reported: ${(await conditionIs("unsealed_secret")).message}`);
    sayUnchanged(story, before, await file(SNAPSHOTS));
    await admin.mend();
    await conditionIsGone("unsealed_secret");
    await admin.desire({ host: { snapshots: { retention: 28 } } });
    story.say("sealed as it should be, the same is taken: the condition is gone");

    story.step("The portal goes away and comes back");
    await admin.outage(true);
    const gone = await waitFor("the agent's word about it", () => trouble(node));
    story.say(`status says: ${gone}`);
    story.say(
      "k3s and the last desired state stay as they are; the agent asks again, 5 s later first",
    );
    await admin.outage(false);
    await waitFor("the sync after the outage", async () => await trouble(node) === null);
    story.say("the portal is back, and so are the syncs");

    story.step("kill -9 in the middle, and a new start");
    story.say(`the agent ended by ${await agent.end("SIGKILL")}`);
    await admin.desire({ host: { ingress: "none" } });
    agent = startAgent(node);
    const resumed = await waitFor("the drop-in after the new start", async () => {
      const text = await file("/etc/rancher/k3s/config.yaml.d/50-pbx-ingress.yaml");
      return text.includes("traefik") ? text : null;
    });
    story.show("50-pbx-ingress.yaml", resumed);
    story.say(`agents that the portal has enrolled: ${await admin.agents()}`);

    const configure = async (lines: string) => {
      await agent.end("SIGTERM");
      await Deno.writeTextFile(node.root + CONFIG, lines, { append: true });
      agent = startAgent(node);
    };
    await runOperationSteps({ story, node, admin, configure });

    story.step("What an operator sees");
    const status = startProcess(["cli/lab.ts", "status", "--text", "--root", node.root]);
    story.show("pbx-agent status --text", await status.wholeOutput());
    story.say(`SIGTERM: the agent ends with ${await agent.end("SIGTERM")}`);
  } finally {
    await agent.end("SIGKILL");
  }
}

function startAgent(node: FakeNode): DemoProcess {
  return startProcess(["cli/lab.ts", "run", "--root", node.root, "--cycle", "0.3"]);
}

async function restarts(node: FakeNode): Promise<readonly string[]> {
  return (await node.systemctlCalls()).filter((call) => call.startsWith("restart "));
}

/** What keeps the agent from syncing, as its state file says; null when nothing does. */
async function trouble(node: FakeNode): Promise<string | null> {
  const state = JSON.parse(await Deno.readTextFile(node.root + STATE));
  return state.trouble === null ? null : state.trouble.message;
}

function sayUnchanged(story: Story, before: string, after: string): void {
  if (before !== after) throw new Error("the drop-in changed");
  story.say("the drop-in is byte for byte what it was");
}

/** A window that is open at any moment. */
function always() {
  const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
  return { days, start: "00:00", minutes: 1440 };
}

/** The agent's log lines as people read them: the message of each. */
function readableLog(output: string): string {
  return output.split("\n").filter((line) => line.startsWith("{")).map((line) => {
    const { time, message } = JSON.parse(line);
    return `${String(time).slice(11, 23)}  ${message}`;
  }).join("\n");
}
