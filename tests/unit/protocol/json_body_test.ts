import assert from "node:assert/strict";
import fc from "fast-check";
import { parseBody } from "../../../core/protocol/json_body.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

function messageOf(body: string | Uint8Array): string {
  const bytes = typeof body === "string" ? utf8(body) : body;
  const result = parseBody(bytes);
  assert.ok(!result.ok, `accepted: ${body}`);
  assert.equal(result.error.code, "malformed_answer");
  return result.error.message;
}

Deno.test("parseBody: reads any JSON value", () => {
  for (
    const text of ["null", "0", '"a"', "[]", "{}", ' {"a":[1,{"b":null}]} \n', '{"größe":"€"}']
  ) {
    assert.deepEqual(parseBody(utf8(text)), { ok: true, value: JSON.parse(text) });
  }
});

Deno.test("parseBody: refuses what is no JSON, without quoting it", () => {
  const bodies = ["", " ", "{", "[1,]", "{'a':1}", "NaN", "<html>", '{"a":1}x', '"\n"', "\ufeff{}"];
  for (const body of bodies) assert.equal(messageOf(body), "the body is no JSON");
});

Deno.test("parseBody: refuses bytes that are no UTF-8", () => {
  for (
    const bytes of [[0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22]]
  ) {
    assert.equal(messageOf(Uint8Array.from(bytes)), "the body is no UTF-8");
  }
});

Deno.test("parseBody: refuses the forbidden keys wherever they stand, escaped too", () => {
  for (const key of ["__proto__", "constructor", "prototype"]) {
    const escaped = `\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}`;
    for (const written of [key, escaped]) {
      for (const body of [`{"${written}":1}`, `[[{"a":{"${written}" \n : {}}}]]`]) {
        assert.equal(messageOf(body), `the body has the forbidden key ${key}`);
      }
    }
  }
});

Deno.test("parseBody: an escaped quote or backslash hides no key behind it", () => {
  for (const value of ['"\\""', '"\\\\"', '"\\\\\\""', '"{[\\"}"']) {
    assert.ok(parseBody(utf8(`{"a":${value},"b":1}`)).ok);
    assert.match(messageOf(`{"a":${value},"__proto__":1}`), /forbidden key __proto__/);
  }
});

Deno.test("parseBody: takes the forbidden words as values and as parts of keys", () => {
  const text = '{"a":"__proto__","b":["constructor"],"prototypes":": prototype","c\\"__proto__":1}';
  assert.deepEqual(parseBody(utf8(text)), { ok: true, value: JSON.parse(text) });
});

Deno.test("parseBody: takes 64 levels and refuses the 65th", () => {
  const nest = (open: string, close: string, depth: number) =>
    open.repeat(depth) + "1" + close.repeat(depth);
  for (const [open, close] of [["[", "]"], ['{"a":', "}"]] as const) {
    assert.ok(parseBody(utf8(nest(open, close, 64))).ok);
    assert.match(messageOf(nest(open, close, 65)), /nested deeper than 64 levels/);
  }
  assert.ok(parseBody(utf8(`[${"[],".repeat(1000)}[]]`)).ok, "breadth is no depth");
  assert.ok(parseBody(utf8(JSON.stringify("[{".repeat(100)))).ok, "brackets in a string count not");
});

Deno.test("parseBody: a body of nothing but brackets is refused, not fatal", () => {
  assert.match(messageOf("[".repeat(131_072) + "]".repeat(131_072)), /nested deeper/);
  assert.match(messageOf('{"a":'.repeat(40_000) + "1" + "}".repeat(40_000)), /nested deeper/);
  assert.match(messageOf("[".repeat(262_144)), /no JSON/);
});

Deno.test("parseBody: a key said twice in one object is refused, however it is written", () => {
  const twice = ['{"a":1,"a":1}', '[{"x":{"b":1,"c":{},"b":2}}]', '{"a":1,"\\u0061":2}'];
  for (const body of twice) {
    assert.match(messageOf(body), /the key "[ab]" twice in one object/);
  }
  const once = ['[{"a":1},{"a":1}]', '{"a":{"a":{"a":1}}}', '{"a":"a","b":"a"}', '[["a","a"]]'];
  for (const body of once) assert.ok(parseBody(utf8(body)).ok, body);
});

/** Whether a value of JavaScript is one that JSON may bring: its integers have limits. */
function isKept(value: unknown): boolean {
  if (typeof value === "number") {
    return Number.isSafeInteger(value) || !Number.isInteger(value);
  }
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(isKept);
}

Deno.test("parseBody: agrees with JSON.parse on every value that has no forbidden key nor too large an integer", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6, noUnicodeString: false }), (value) => {
      const text = JSON.stringify(value, null, 1);
      const plain = !/"(?:__proto__|constructor|prototype)"\s*:/.test(text) && isKept(value);
      const result = parseBody(utf8(text));
      assert.equal(result.ok, plain);
      if (result.ok) assert.deepEqual(result.value, JSON.parse(text));
    }),
    { seed: 20260302, numRuns: 500 },
  );
});

/** Compact JSON texts, some of which have a key twice, a forbidden one, or one that is escaped. */
const compact = fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom("1", "1e2", "true", "null", '""', '"a"', '"constructor"', '"\\u0061"', '"é"'),
    tie("object"),
    tie("list"),
  ),
  object: fc.array(
    fc.tuple(fc.constantFrom("a", "b", "1", "\\u0061", "\\n", "é", "prototype"), tie("value")),
    { maxLength: 4 },
  ).map((members) => `{${members.map(([key, value]) => `"${key}":${value}`).join(",")}}`),
  list: fc.array(tie("value"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
})).value;

Deno.test("parseBody: says the same of a text as of one with a blank, which is always scanned", () => {
  fc.assert(
    fc.property(compact, fc.integer({ min: 0, max: 66 }), (inner, depth) => {
      const text = "[".repeat(depth) + inner + "]".repeat(depth);
      assert.deepEqual(parseBody(utf8(text)), parseBody(utf8(`${text} `)), text);
    }),
    { seed: 20260304, numRuns: 2000 },
  );
});

Deno.test("parseBody: reads bytes as the strict decoder does", () => {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const pieces = fc.constantFrom(
    [0x61],
    [0xc3, 0xa9],
    [0xef, 0xbf, 0xbd],
    [0xef, 0xbb, 0xbf],
    [
      0xff,
    ],
    [0xc3],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x9f, 0x98, 0x80],
    [0x80],
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
      const bytes = Uint8Array.from([0x22, ...parts.flat(), 0x22]);
      const result = parseBody(bytes);
      let text: string | null = null;
      try {
        text = strict.decode(bytes);
      } catch { /* no UTF-8 */ }
      assert.equal(result.ok ? result.value : null, text === null ? null : text.slice(1, -1));
    }),
    { seed: 20260305, numRuns: 1000 },
  );
});

Deno.test("parseBody: any bytes get an answer", () => {
  const fragments = fc.constantFrom("{", "}", "[", "]", '"', ":", ",", "\\", "a", " ", "1", "\n");
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 64 }),
        fc.array(fragments, { maxLength: 24 }).map((parts) => utf8(parts.join(""))),
      ),
      (bytes) => {
        const result = parseBody(bytes);
        assert.equal(typeof result.ok, "boolean");
      },
    ),
    { seed: 20260303, numRuns: 2000 },
  );
});
