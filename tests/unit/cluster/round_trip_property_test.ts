import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { judgeSyncAnswer } from "../../../core/agent/judge.ts";
import { renderAddon } from "../../../core/cluster/render.ts";
import { isJsonObject, type JsonValue } from "../../../core/json.ts";
import { readBody } from "../../../core/protocol/json_body.ts";
import { SYNC_DOCUMENTS } from "../../../fixtures/source/syncing.ts";
import { chart, template } from "./addon_world.ts";

const WORLD = { clusterId: "demo", nodeName: "demo-1", releasedAt: "2026-01-01T00:00:00Z" };

/** The option as a part of the object, and as the text that a chart's values are. */
const TEMPLATE = template("one", {
  options: { any: { type: "object" } },
  objects: [chart("one", {
    set: { $eval: "options.any" },
    valuesContent: { $json: { $eval: "options" } },
  })],
});

/** JSON texts: numbers of every kind, strings with what other formats stumble over, odd keys. */
const text = fc.letrec<{ value: string }>((tie) => {
  const odd = fc.constantFrom(
    ..."$eval ${options} toString 1 0x10 010 on null ~ 1e3 12:30:45 - #".split(" "),
    "",
    " a ",
    "a: b",
    "\u0000",
    "\u0085",
    "a \u2028 b",
    "\u2029",
    "\ufeff",
    "\u007f",
    "\u202e",
    "\ud800",
    "\udc00x",
    "💥",
    "\n\t\r",
    "\u2028",
    "'\"\\",
  ).map((one) => JSON.stringify(one));
  const number = fc.oneof(
    fc.constantFrom(
      ..."0 -0 1 1.0 1e3 1E3 -7 0.1 1e-7 5e-324 9007199254740991 9007199254740992 9007199254740993"
        .split(" "),
      ..."1e21 1e400 -1e400 1e-400 0.30000000000000004 3.141592653589793238 1e15 123456789012345678"
        .split(" "),
    ),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    fc.maxSafeInteger().map(String),
  );
  return {
    value: fc.oneof(
      { depthSize: "small" },
      number,
      odd,
      fc.constantFrom("true", "false", "null"),
      fc.array(tie("value"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
      fc.uniqueArray(fc.tuple(odd, tie("value")), { maxLength: 3, selector: ([key]) => key })
        .map((members) => `{${members.map(([key, value]) => `${key}:${value}`).join(",")}}`),
    ),
  };
}).value;

Deno.test("options: what the portal said of an option stands in the object that is applied, or is refused", () => {
  let applied = 0;
  let refused = 0;
  fc.assert(
    fc.property(text, (said) => {
      const addons = [{ name: "one", enabled: true, options: { any: { x: "@said@" } } }];
      const { registries: _sealed, ...host } = SYNC_DOCUMENTS.sync_answer.desired.host;
      const desired = { ...SYNC_DOCUMENTS.sync_answer.desired, host, secrets: {}, addons };
      const answer = { ...SYNC_DOCUMENTS.sync_answer, operation: null, desired };
      const bytes = new TextEncoder().encode(
        JSON.stringify(answer).replace('"@said@"', () => said),
      );
      const body = readBody(bytes);
      assert.ok(body.ok, said);
      const judged = judgeSyncAnswer(body.value.value, [], body.value.unfit);
      assert.equal(judged.kind, "usable");
      if (judged.kind !== "usable") return;
      if (judged.offered.kind === "faulty") {
        refused++;
        assert.match(judged.offered.message, /^desired\.addons\[0\]\.options\.any\./, said);
        assert.ok(!isExact(said), said);
        return;
      }
      applied++;
      assert.ok(judged.offered.kind === "desired");
      const [setting] = judged.offered.state.addons;
      assert.ok(setting !== undefined && isExact(said), said);
      const rendered = renderAddon(setting, TEMPLATE, WORLD, new Map());
      assert.ok(rendered.ok, said);
      // As it goes over the wire: to the API, and from there to Helm, which reads YAML 1.1.
      const sent = JSON.parse(JSON.stringify(rendered.value[0]?.object["spec"])) as JsonValue;
      assert.ok(isJsonObject(sent));
      const { set, valuesContent } = sent;
      assert.deepEqual((set as { x: unknown }).x, plain(JSON.parse(said)), said);
      // Three of these characters end a line for a reader of YAML 1.1, and two may not be there at all.
      assert.doesNotMatch(String(valuesContent), /[\x7f-\x9f\u2028\u2029\ufeff]/);
      assert.deepEqual(JSON.parse(String(valuesContent)).any.x, plain(JSON.parse(said)), said);
      const helm = parse(String(valuesContent), { version: "1.1", uniqueKeys: false });
      assert.deepEqual(plain(helm.any.x), plain(JSON.parse(said)), said);
    }),
    { seed: 20260316, numRuns: 3_000 },
  );
  assert.ok(applied > 500 && refused > 300, `${applied} applied, ${refused} refused`);
});

/** -0 is 0, as a number. */
function plain(value: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(value));
}

/** Whether every number and string of a JSON text is one that a double and a UTF-8 text hold. */
function isExact(said: string): boolean {
  let exact = true;
  const look = JSON.parse as (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown;
  look(said, (key, value, { source = "" }) => {
    if (typeof value === "number" && !isKept(value, source)) exact = false;
    if (typeof value === "string" && !value.isWellFormed() || !key.isWellFormed()) exact = false;
    return value;
  });
  return exact;
}

/** By the digits that are left of the difference, with more of them than any text here has. */
function isKept(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return false;
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false;
  const digits = (text: string) => {
    const [mantissa = "", power = "0"] = text.toLowerCase().replace(/^-/, "").split("e");
    const [whole = "", fraction = ""] = mantissa.split(".");
    return BigInt(whole + fraction) * 10n ** BigInt(800 + Number(power) - fraction.length);
  };
  return digits(source) === digits(String(value));
}
