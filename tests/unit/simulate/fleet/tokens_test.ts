import assert from "node:assert/strict";
import { tokensBy, tokensFrom } from "../../../../simulate/fleet/tokens.ts";

const line = (change: Record<string, unknown> = {}) =>
  JSON.stringify({
    token: "pbx_secret",
    cluster_id: "test-1",
    node_name: "test-1-1",
    server_id: "4711",
    ...change,
  });

Deno.test("tokensFrom: a line for each agent, in their order; empty lines count for nothing", async () => {
  const tokens = tokensFrom(`${line()}\n\n${line({ cluster_id: "test-2" })}\n`);
  assert.ok(tokens.ok);
  assert.equal(tokens.value.count, 2);
  assert.equal((await tokens.value.of(1)).clusterId, "test-2");
  await assert.rejects(tokens.value.of(2), /no token for agent 2/);
});

for (
  const [text, words] of [
    ["token", /line 1 is no JSON/],
    [`${line()}\n${line({ cluster_id: "No Label" })}`, /^line 2: cluster_id/],
    [line({ token: 5 }), /^line 1: token/],
    [line({ server_id: "x" }), /^line 1: server_id/],
  ] as const
) {
  Deno.test(`tokensFrom: refuses ${text.slice(0, 40)}... without showing a token`, () => {
    const tokens = tokensFrom(text);
    assert.ok(!tokens.ok);
    assert.match(tokens.error, words);
    assert.ok(!tokens.error.includes("secret"));
  });
}

Deno.test("tokensBy: a cluster of its own for each agent, told apart by run and number", async () => {
  const asked: unknown[] = [];
  const admin = {
    token: (name: unknown) => Promise.resolve(`t${asked.push(name)}`),
    queue: () => Promise.resolve(),
    change: () => Promise.resolve(),
    release: () => Promise.resolve(),
  };
  const tokens = tokensBy([admin], "sim-ab");
  const names = [await tokens.of(0), await tokens.of(12)];
  assert.deepEqual(names.map(({ nodeName, token }) => [nodeName, token]), [
    ["sim-ab-000000-1", "t1"],
    ["sim-ab-000012-1", "t2"],
  ]);
  assert.notEqual(names[0]?.serverId, names[1]?.serverId);
});

Deno.test("tokensBy: several portals are asked in turn, by the agents' numbers", async () => {
  const portal = (name: string) => ({
    token: () => Promise.resolve(name),
    queue: () => Promise.resolve(),
    change: () => Promise.resolve(),
    release: () => Promise.resolve(),
  });
  const tokens = tokensBy([portal("a"), portal("b"), portal("c")], "sim-ab");
  const names = await Promise.all([0, 4, 5, 6].map((index) => tokens.of(index)));
  assert.deepEqual(names.map(({ token }) => token), ["a", "b", "c", "a"]);
});
