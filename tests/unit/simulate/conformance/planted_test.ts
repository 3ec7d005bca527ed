import assert from "node:assert/strict";
import { refuse } from "../../../../adapters/portal/http/message.ts";
import { RULE_IDS } from "../../../../simulate/conformance/rules.ts";
import type { JsonObject } from "../../../../core/json.ts";
import { bodyOf } from "./bypass.ts";
import { editDesired, PLANTED_ANSWERS } from "./planted_answers.ts";
import { PLANTED_CHECKS } from "./planted_checks.ts";
import { walk } from "./world.ts";

const PLANTED = { ...PLANTED_ANSWERS, ...PLANTED_CHECKS };

Deno.test("conformance: every rule has a planted fault, and nothing else has", () => {
  assert.deepEqual(Object.keys(PLANTED).sort(), RULE_IDS.toSorted());
});

// A walk is a hundred signatures on either side: by default every twelfth is tried, all with PBX_LONG=1.
const STEP = Deno.env.get("PBX_LONG") === "1" ? 1 : 12;

for (const [rule, plant] of Object.entries(PLANTED).filter((_plant, index) => index % STEP === 0)) {
  Deno.test(`conformance: a portal with one fault fails exactly ${rule}`, async () => {
    const { rules } = await walk(plant());
    const failed = rules.filter(({ verdict }) => verdict === "fail");
    assert.deepEqual(failed.map(({ id }) => id), [rule], JSON.stringify(failed, null, 1));
  });
}

Deno.test("conformance: an option that breaks a limit of the release is told, with the limit", async () => {
  const report = await walk(editDesired((body) => ({
    ...body,
    addons: (body["addons"] as readonly JsonObject[]).map((addon) => ({
      ...addon,
      options: { domain: "https://example.com" },
    })),
  })));
  const failed = report.rules.filter(({ verdict }) => verdict === "fail");
  assert.deepEqual(failed.map(({ id }) => id), ["desired.addons"]);
  assert.match(
    failed[0]?.findings[0]?.came ?? "",
    /options\.domain: "https:\/\/example\.com" breaks the limit pattern/,
  );
});

Deno.test("conformance: the fake portal keeps every rule", async () => {
  const report = await walk();
  const others = report.rules.filter(({ verdict }) => verdict !== "pass");
  assert.deepEqual(others, []);
  assert.equal(report.passed, RULE_IDS.length);
});

Deno.test("conformance: without a token nothing is tried that needs an agent, and that is said", async () => {
  const report = await walk(null, { hands: null });
  assert.deepEqual([report.passed > 0, report.failed], [true, 0]);
  const skipped = report.rules.filter(({ verdict }) => verdict === "skip");
  assert.ok(skipped.length > 70);
  assert.deepEqual([...new Set(skipped.map(({ reason }) => reason))], ["no token was given"]);
});

Deno.test("conformance: no finding shows a secret or a token", async () => {
  const plant = PLANTED_CHECKS["enroll.accepted"];
  assert.ok(plant);
  const tokens = new Set<string>();
  const report = await walk(async (around) => {
    const given = await plant()(around);
    const { token } = bodyOf(around.request);
    if (typeof token === "string") tokens.add(token);
    return given.status === 503 ? refuse(503, "internal", `no ${token}`) : given;
  });
  const text = JSON.stringify(report);
  assert.match(text, /503 internal: no \[secret\]/);
  for (const token of tokens) assert.ok(!text.includes(token));
});
