import assert from "node:assert/strict";
import { secretsIn, secretsOf } from "./secrets.ts";
import { treeOf } from "./tree.ts";
import { inWorld } from "./world.ts";

const NAME = "external-dns";
const TOKEN = "a-dns-token-in-clear";

Deno.test("plan: before there is an agent, and what the next cycle would change, told and not done", async () => {
  await inWorld(async (world) => {
    const none = await world.cli("plan");
    assert.deepEqual([none.code, none.stdout], [1, ""]);
    assert.match(none.stderr, /^pbx-agent: identity\.json is not there/);

    const agent = await world.startSynced();
    const options = { domain: "example.com" };
    const addon = { name: NAME, enabled: true, options };
    const secret_options = { api_token: { plain: TOKEN } };
    await world.admin("PATCH", "/clusters/demo/desired", {
      addons: [{ ...addon, secret_options }],
    });
    const chart = `/apis/helm.cattle.io/v1/namespaces/kube-system/helmcharts/${NAME}`;
    const api = () => world.node.api();
    await world.until("the chart", () => api()?.read(chart) ?? null);
    await agent.stop();
    api()?.drop(chart);
    api()?.forgetRequests();

    const before = await treeOf(world.root);
    const text = await world.cli("plan");
    assert.deepEqual([text.code, text.stderr], [0, ""]);
    assert.match(text.stdout, new RegExp(`^  apply  helmcharts/${NAME}: it is not there$`, "m"));
    const json = await world.cli("plan", "--json");
    assert.deepEqual(
      JSON.parse(json.stdout).addons[0].changes.map(({ object }: { object: string }) => object)
        .includes(`helmcharts/${NAME}`),
      true,
    );
    assert.deepEqual(secretsIn(text.stdout + json.stdout, [...await secretsOf(world), TOKEN]), []);
    assert.equal(await treeOf(world.root), before);
    assert.equal(api()?.writes(), 0);
    assert.equal(api()?.read(chart), null);
  });
});
