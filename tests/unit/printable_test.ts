import assert from "node:assert/strict";
import fc from "fast-check";
import { printable, printableLines, printableOutput } from "../../core/printable.ts";

const UNSEEN: readonly [string, string][] = [
  ["\0", "\\u0000"],
  ["\x1b[2J", "\\u001b[2J"],
  ["\x7f", "\\u007f"],
  ["\x85", "\\u0085"],
  ["\x9b31m", "\\u009b31m"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\xad", "\\u00ad"],
  ["\u061c", "\\u061c"],
  ["\u115f", "\\u115f"],
  ["\u180e", "\\u180e"],
  ["\u200b", "\\u200b"],
  ["\u200d", "\\u200d"],
  ["\u200e", "\\u200e"],
  ["\u200f", "\\u200f"],
  ["\u2028", "\\u2028"],
  ["\u2029", "\\u2029"],
  ...["\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2060"].map(escape),
  ...["\u2066", "\u2067", "\u2068", "\u2069", "\u3164", "\ufe0f", "\ufeff", "\uffa0"].map(escape),
  ["\u{e0041}", "\\udb40\\udc41"],
  ["\u{e0100}", "\\udb40\\udd00"],
  ["\ud800", "\\ud800"],
];

function escape(character: string): [string, string] {
  return [character, `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`];
}

Deno.test("printable: what steers, breaks a line or is not seen is spelt out", () => {
  for (const [text, shown] of UNSEEN) assert.equal(printable(`a${text}b`), `a${shown}b`);
});

Deno.test("printable: letters, marks and pictures stay", () => {
  for (
    const text of [
      "plain ~ text",
      "größe € ñ n\u0303",
      "日本語 한국어 עברית العربية",
      "💥🐢",
      "\\n",
    ]
  ) {
    assert.equal(printable(text), text);
  }
});

Deno.test("printableLines: lines stay lines, and nothing else does", () => {
  assert.equal(printableLines("a\r\nb\nc\rd\u2028e"), "a\nb\nc\\rd\\u2028e");
});

Deno.test("printableOutput: JSON means the same, in bytes that steer nothing", () => {
  const hostile = fc.string({
    unit: fc.constantFrom(...UNSEEN.map(([text]) => text), "a", '"', "\\"),
  });
  fc.assert(
    fc.property(fc.dictionary(hostile, hostile), (value) => {
      for (const indent of [0, 2]) {
        const text = printableOutput(JSON.stringify(value, null, indent));
        assert.equal(JSON.stringify(JSON.parse(text)), JSON.stringify(value));
        assert.equal(text, printableOutput(text));
        assert.match(text, /^[\n\x20-\x7e]*$/);
      }
    }),
    { seed: 20260315, numRuns: 500 },
  );
});
