import assert from "node:assert/strict";
import { planText } from "../../../cli/plan_text.ts";
import { statusText } from "../../../cli/status_text.ts";
import { createSettledWorld } from "./world.ts";

const HOSTILE = "a\x1b[2J\u202egpj.exe\u2066\r\n2026-01-01T00:00:00Z forged\u2028\u200b";
const SHOWN = String.raw`a\u001b[2J\u202egpj.exe\u2066\r\n2026-01-01T00:00:00Z forged\u2028\u200b`;
/** Nothing of it is left where somebody may see it. */
// deno-lint-ignore no-control-regex -- they are what must not be there
const STEERS = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/;

Deno.test("words: of an error of the portal are printable in the state, in status and in an answer", async () => {
  const world = await createSettledWorld();
  const body = { error: { code: "internal", message: HOSTILE, later: 1 } };
  world.portal.fault({ match: { path: "/sync" }, count: 9, action: { status: 500, body } });
  await world.pass(40_000);
  const status = await world.status();
  assert.ok(status.trouble?.message.includes(SHOWN), status.trouble?.message);
  assert.doesNotMatch(world.disk.text("/var/lib/pbx-agent/state.json") ?? "", STEERS);
  const whole = { version: "1", running: true, pid: 1, k3s_unit: "active", slots: null };
  const text = statusText({ ...status, ...whole });
  assert.doesNotMatch(text, STEERS);
  assert.doesNotMatch(text, /^2026/m);
  await world.stop();
});

Deno.test("words: names that the portal gave are printable in conditions and results", async () => {
  const world = await createSettledWorld();
  const options = { [HOSTILE]: 1 };
  world.portal.desire({ addons: [{ name: "external-dns", enabled: true, options }] });
  const operations = [
    world.portal.offer({ id: "op-1", kind: HOSTILE, params: {} }),
    world.portal.offer({ id: "op-2", kind: "snapshot.save", params: { [HOSTILE]: 1 } }),
  ];
  await world.pass(150_000);
  const report = world.lastReport();
  assert.deepEqual(world.conditions(), ["invalid_desired_state"]);
  assert.match(report.conditions[0]?.message ?? "", /\\u202egpj/);
  assert.doesNotMatch(JSON.stringify(report.conditions), STEERS);
  assert.equal(operations[0]?.result?.state, "unsupported");
  assert.equal(operations[1]?.result?.code, "invalid_params");
  for (const operation of operations) {
    assert.match(operation.result?.message ?? "", /\\u202egpj/);
    assert.doesNotMatch(operation.result?.message ?? "", STEERS);
  }
  await world.stop();
});

Deno.test("planText: fields, values and words of the cluster are printable", () => {
  const change = {
    action: "apply" as const,
    object: `helmcharts/${HOSTILE}`,
    why: HOSTILE,
    differences: [{ field: HOSTILE, live: HOSTILE, wanted: { [HOSTILE]: HOSTILE } }],
  };
  const text = planText(
    {
      revision: 1,
      release: "1.0.0",
      servers: 1,
      withheld: null,
      host: [],
      secrets: [],
      addons: [{ name: "one", state: "pending", message: HOSTILE, changes: [change] }],
    } as unknown as Parameters<typeof planText>[0],
  );
  assert.doesNotMatch(text, STEERS);
  assert.doesNotMatch(text, /^\s*2026/m);
  assert.ok(text.includes(SHOWN));
});
