import assert from "node:assert/strict";
import { format, inspect } from "node:util";
import { Secret } from "../../core/secret.ts";

const VALUE = "hunter2";

/** Every way in which a value turns into text or gives its parts away by accident. */
const VIEWS: Readonly<Record<string, (secret: Secret) => string>> = {
  "a template": (secret) => `${secret}`,
  "String": (secret) => String(secret),
  "adding to a text": (secret) => "" + secret,
  "joining": (secret) => [secret].join(),
  "JSON": (secret) => JSON.stringify(secret),
  "JSON, nested": (secret) => JSON.stringify({ deep: [secret] }),
  "Deno.inspect": (secret) => Deno.inspect(secret),
  "Deno.inspect, nested": (secret) => Deno.inspect({ deep: [secret] }, { showHidden: true }),
  "Deno.inspect, in depth": (secret) => Deno.inspect(secret, { depth: 9, getters: true }),
  "inspect": (secret) => inspect(secret),
  "inspect, nested": (secret) => inspect(new Map([["key", { secret }]]), { depth: 9 }),
  "inspect without its hook": (secret) =>
    inspect(secret, { customInspect: false, showHidden: true, getters: true }),
  "format": (secret) => format("%s %o %O %j %d", secret, secret, secret, secret, secret),
  "entries": (secret) => JSON.stringify([Object.entries(secret), Reflect.ownKeys(secret)]),
  "a spread": (secret) => JSON.stringify({ ...secret }),
  "a structured clone": (secret) => JSON.stringify(structuredClone(secret)),
  "an error": (secret) => inspect(new Error(`cannot use ${secret}`, { cause: secret })),
  "a failed assertion": (secret) => {
    try {
      assert.deepEqual(secret, "another");
      return VALUE;
    } catch (cause) {
      return inspect(cause);
    }
  },
};

Deno.test("Secret: gives its value only when asked to reveal it", () => {
  const bytes = new Uint8Array([1, 2]);
  assert.equal(new Secret(VALUE).reveal(), VALUE);
  assert.equal(new Secret(bytes).reveal(), bytes);
});

for (const [name, view] of Object.entries(VIEWS)) {
  Deno.test(`Secret: shows nothing through ${name}`, () => {
    assert.ok(!view(new Secret(VALUE)).includes(VALUE), view(new Secret(VALUE)));
  });
}

Deno.test("Secret: prints as [secret] where it is printed", () => {
  const secret = new Secret(VALUE);
  assert.equal(`${secret}`, "[secret]");
  assert.equal(JSON.stringify({ secret }), '{"secret":"[secret]"}');
  assert.equal(Deno.inspect({ secret }), "{ secret: [secret] }");
  assert.equal(inspect({ secret }), "{ secret: [secret] }");
});

Deno.test("Secret: shows none of the bytes it holds", () => {
  const secret = new Secret(new Uint8Array([222, 173, 190, 239]));
  for (const text of [`${secret}`, JSON.stringify(secret), Deno.inspect(secret), inspect(secret)]) {
    assert.doesNotMatch(text, /222|173|190|239/);
  }
});
