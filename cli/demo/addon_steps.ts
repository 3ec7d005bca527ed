import type { AddonReport } from "../../core/protocol/sync.ts";
import type { FakeNode } from "../../adapters/fake/fake_node.ts";
import type { AdminClient } from "./admin.ts";
import { startProcess } from "./process.ts";
import type { Story } from "./story.ts";
import { waitFor } from "./wait.ts";

/** What these steps work with. */
export interface AddonStage {
  readonly story: Story;
  readonly node: FakeNode;
  readonly admin: AdminClient;
}

const NAME = "external-dns";
const CHART = `/apis/helm.cattle.io/v1/namespaces/kube-system/helmcharts/${NAME}`;
const SECRET = `/api/v1/namespaces/kube-system/secrets/pbx-addon-${NAME}`;

/** An add-on with a secret option comes and goes; `plan` is asked before each of the two. */
export async function runAddonSteps(stage: AddonStage): Promise<void> {
  const { story, node, admin } = stage;
  const api = () => node.api();
  story.step("An add-on with a secret option is switched on; what would happen is asked first");
  await switchAddon(stage, true);
  const pending = await waitFor("the add-on that is being installed in a report", async () => {
    const found = await addonIs(admin, "pending");
    return found?.message?.includes("installed") === true ? found : null;
  });
  story.say(`reported: ${NAME} is pending: ${pending.message}`);
  await waitFor("the applied add-on in a report", () => addonIs(admin, "applied"));
  story.say(`reported: ${NAME} is applied`);
  story.show(`HelmChart ${NAME}`, JSON.stringify(api()?.read(CHART)?.["spec"], null, 2));
  const keys = Object.keys((api()?.read(SECRET)?.["data"] ?? {}) as Record<string, unknown>);
  story.say(`Secret pbx-addon-${NAME} has the key ${keys.join(", ")}; nothing else has its value`);

  story.step("It is switched off again, and is away");
  await switchAddon(stage, false);
  await waitFor("the removed add-on in a report", () => addonIs(admin, "removed"));
  const isAway = api()?.read(CHART) === null && api()?.read(SECRET) === null;
  if (!isAway) throw new Error(`objects of ${NAME} are still there`);
  story.say(`reported: ${NAME} is removed; its HelmChart and its Secret are gone`);
}

/** The API is not ready for a moment, so that there is time to ask before it is carried out. */
async function switchAddon({ story, node, admin }: AddonStage, enabled: boolean): Promise<void> {
  node.api()?.setReady(false);
  const before = (await admin.report())?.desired.tag;
  const options = { domain: "example.com" };
  const secret_options = { api_token: { plain: "a token that nobody should see" } };
  await admin.desire({ addons: [{ name: NAME, enabled, options, secret_options }] });
  await waitFor("the new desired state in a report", async () => {
    return (await admin.report())?.desired.tag !== before;
  });
  const plan = startProcess(["cli/lab.ts", "plan", "--root", node.root]);
  story.show("pbx-agent plan", await plan.wholeOutput());
  node.api()?.setReady(true);
}

async function addonIs(
  admin: AdminClient,
  state: AddonReport["state"],
): Promise<AddonReport | undefined> {
  const addons = (await admin.report())?.addons ?? [];
  return addons.find((addon) => addon.name === NAME && addon.state === state);
}
