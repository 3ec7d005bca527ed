import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { createSettledWorld } from "./world.ts";

const ADDON = { name: "external-dns", enabled: true, options: { domain: "a.b" } };
const TOKEN = { plain: "the-token-of-the-dns" };

/** What is wrong with the options, the condition that tells it, and the option that it names. */
const FAULTS: readonly [string, JsonObject, string, RegExp][] = [
  [
    "an unknown name in secret_options",
    { secret_options: { api_token: TOKEN, other: TOKEN } },
    "invalid_desired_state",
    /external-dns\.secret_options\.other: .*release .* does not know/,
  ],
  [
    "an unknown name in options",
    { options: { domain: "a.b", other: 1 } },
    "invalid_desired_state",
    /external-dns\.options\.other: .*does not know/,
  ],
  [
    "a key that every object has",
    { options: { domain: "a.b", toString: 1 } },
    "invalid_desired_state",
    /options\.toString/,
  ],
  [
    "a plain option that is sealed",
    { options: {}, secret_options: { domain: TOKEN } },
    "invalid_desired_state",
    /secret_options\.domain: is not secret/,
  ],
  [
    "a secret option in clear",
    { options: { domain: "a.b", api_token: "hunter2hunter2" } },
    "unsealed_secret",
    /options\.api_token: is secret/,
  ],
  [
    "a secret option in clear behind an unknown one",
    { options: { aaa: 1, api_token: "hunter2hunter2" } },
    "unsealed_secret",
    /options\.api_token: is secret/,
  ],
  [
    "a text that breaks a pattern",
    { options: { domain: "https://a.b" } },
    "invalid_desired_state",
    /external-dns\.options\.domain: "https:\/\/a\.b" breaks the limit pattern \^\[a-z0-9-\]\+.*\$ .*1\.0\.0/,
  ],
  [
    "a text that breaks it by a line break behind it",
    { options: { domain: "a.b\n" } },
    "invalid_desired_state",
    /options\.domain: "a\.b\\n" breaks the limit pattern/,
  ],
  [
    "a text that breaks it in an add-on that is off",
    { enabled: false, options: { domain: "" } },
    "invalid_desired_state",
    /options\.domain: "" breaks the limit pattern/,
  ],
  [
    "a text that is too long",
    { options: { domain: "a".repeat(254) } },
    "invalid_desired_state",
    /options\.domain: "a{79}\.\.\. breaks the limit maxLength 253/,
  ],
  [
    "a secret that is too long",
    { secret_options: { api_token: { plain: "hunter2".repeat(29) } } },
    "invalid_desired_state",
    /secret_options\.api_token: the secret breaks the limit maxLength 200/,
  ],
  [
    "an add-on that is off",
    { enabled: false, secret_options: { other: TOKEN } },
    "invalid_desired_state",
    /secret_options\.other/,
  ],
];

for (const [what, change, code, message] of FAULTS) {
  Deno.test(`checkOptions: refuses the desired state as a whole: ${what}`, async () => {
    const world = await createSettledWorld();
    const addon = { ...ADDON, ...change } as JsonObject;
    world.portal.desire({ addons: [addon], host: { ingress: "none" } });
    const operation = world.portal.offer({ id: "op-1", kind: "no.such", params: {} });
    await world.pass(70_000);
    assert.deepEqual(world.conditions(), [code]);
    assert.match(world.lastReport().conditions[0]?.message ?? "", message);
    assert.equal(world.lastReport().desired.revision, 1);
    assert.deepEqual(world.lastReport().addons, []);
    assert.equal(operation.result?.state, "unsupported");
    assert.ok(!world.log.text().includes("hunter2"));
    assert.ok(!JSON.stringify(world.lastReport()).includes("hunter2"));

    world.portal.desire({ addons: [{ ...ADDON, secret_options: { api_token: TOKEN } }] });
    await world.pass(70_000);
    assert.equal(world.lastReport().desired.revision, 3);
    assert.ok(!world.conditions().includes(code));
    await world.stop();
  });
}

Deno.test("checkOptions: an add-on that the release does not have fails alone", async () => {
  const world = await createSettledWorld();
  const other = { name: "no-such-addon", enabled: true, options: { a: 1 } };
  world.portal.desire({ addons: [other] });
  await world.pass(70_000);
  assert.equal(world.lastReport().desired.revision, 2);
  assert.deepEqual(world.conditions(), ["addon_failed"]);
  await world.stop();
});
