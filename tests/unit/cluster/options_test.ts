import assert from "node:assert/strict";
import { resolveOptions } from "../../../core/cluster/options.ts";
import type { JsonValue } from "../../../core/json.ts";
import type { OptionDeclaration } from "../../../core/protocol/release.ts";
import { addon, template } from "./addon_world.ts";

const OPTIONS: Record<string, OptionDeclaration> = {
  text: { type: "string", required: true },
  count: { type: "number", default: 3 },
  flag: { type: "boolean" },
  list: { type: "array" },
  map: { type: "object" },
  key: { type: "string", secret: true },
};

function resolve(
  given: Record<string, JsonValue>,
  sealed: readonly string[] = [],
  options = OPTIONS,
) {
  const setting = {
    ...addon("one", true, given),
    secret_options: Object.fromEntries(sealed.map((name) => [name, { sealed: "box" }])),
  };
  return resolveOptions(setting, template("one", { options }));
}

Deno.test("resolveOptions: what is given, and defaults for the rest", () => {
  const given = { text: "a", flag: false, list: [1], map: { a: 1 } };
  assert.deepEqual(resolve(given), { ok: true, value: { ...given, count: 3 } });
  assert.deepEqual(resolve({ text: "a", count: 0 }), { ok: true, value: { text: "a", count: 0 } });
  assert.deepEqual(resolve({ text: "a" }, ["key"]), { ok: true, value: { text: "a", count: 3 } });
});

const FAULTS: readonly [string, Record<string, JsonValue>, readonly string[], string][] = [
  ["required", {}, [], "option text is required"],
  ["null is no text", { text: null }, [], "option text must be of type string"],
  [
    "null is not the default",
    { text: "a", count: null },
    [],
    "option count must be of type number",
  ],
  ["a number for a text", { text: 1 }, [], "option text must be of type string"],
  ["a list for a map", { text: "a", map: [] }, [], "option map must be of type object"],
  ["a map for a list", { text: "a", list: {} }, [], "option list must be of type array"],
  ["a text for a number", { text: "a", count: "3" }, [], "option count must be of type number"],
  ["unknown", { text: "a", other: 1 }, [], "option other is not known to this add-on"],
  ["unknown and sealed", { text: "a" }, ["other"], "option other is not known to this add-on"],
  [
    "a key of every object",
    { text: "a", toString: 1 },
    [],
    "option toString is not known to this add-on",
  ],
  [
    "a secret in clear",
    { text: "a", key: "clear" },
    [],
    "option key is secret and must be in secret_options, sealed",
  ],
  ["sealed and not secret", {}, ["text"], "option text is not secret and must be in options"],
];

for (const [what, given, sealed, message] of FAULTS) {
  Deno.test(`resolveOptions: refused: ${what}`, () => {
    assert.deepEqual(resolve(given, sealed), { ok: false, error: message });
  });
}

Deno.test("resolveOptions: a secret option that is required and missing; a default of a wrong type", () => {
  const key = { key: { type: "string", secret: true, required: true } } as const;
  assert.deepEqual(resolve({}, [], key), {
    ok: false,
    error: "the secret option key is required",
  });
  assert.ok(resolve({}, ["key"], key).ok);
  const odd = { count: { type: "number", default: "three" } } as const;
  assert.deepEqual(resolve({}, [], odd), {
    ok: false,
    error: "option count must be of type number",
  });
});

Deno.test("resolveOptions: what breaks a limit is not rendered, whoever accepted it; nor told", () => {
  const options = { text: { type: "string", pattern: "^[a-z]+$" } } as const;
  assert.ok(resolve({ text: "abc" }, [], options).ok);
  assert.deepEqual(resolve({ text: "a b" }, [], options), {
    ok: false,
    error: "option text breaks the limit pattern ^[a-z]+$",
  });
});

Deno.test("resolveOptions: an option called __proto__ is one like any other", () => {
  const options = JSON.parse('{"__proto__": {"type": "object"}}');
  const given = JSON.parse('{"__proto__": {"polluted": true}}');
  const resolved = resolve(given, [], options);
  assert.ok(resolved.ok || /not known/.test(resolved.error));
  if (resolved.ok) assert.equal((resolved.value as { polluted?: unknown }).polluted, undefined);
});
