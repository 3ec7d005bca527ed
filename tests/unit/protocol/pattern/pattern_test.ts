import assert from "node:assert/strict";
import fc from "fast-check";
import {
  compilePattern,
  matches,
  type Pattern,
  workOfOptions,
} from "../../../../core/protocol/pattern/pattern.ts";

function compiled(source: string): Pattern {
  const pattern = compilePattern(source);
  assert.ok(pattern.ok, `${source}: ${JSON.stringify(pattern)}`);
  return pattern.value;
}

function isMatch(source: string, text: string): boolean | null {
  return matches(compiled(source), text, workOfOptions());
}

const TEXTS = [
  ...[
    "",
    "a",
    "b",
    "ab",
    "aab",
    "abc",
    "a\n",
    "\n",
    "a\nb",
    "a\r",
    "a\u2028",
    "-",
    "a-b",
    "1",
    "a1",
  ],
  ...[
    "_",
    " ",
    "\t",
    "ä",
    "a\u0308",
    "😀",
    "😀😀",
    "a😀",
    "]",
    "^",
    "$",
    "a$",
    "\\",
    ".",
    "/",
    "{",
    "1.2",
  ],
  ...[
    "https://a.example",
    "a.example",
    "a..b",
    "A",
    "aaaa",
    "aaaaaaaaaa",
    "\0",
    "\u00a0",
    "é",
    "e\u0301",
  ],
];

const PATTERNS = [
  ...[
    "^$",
    "^a$",
    "^.$",
    "^.*$",
    "^(?:a|b)$",
    "^a$|^b$",
    "^[a-z]+$",
    "^[^a-z]*$",
  ],
  ...[
    "^[]$",
    "^[^]$",
    "^[^]*$",
    "^\\d+$",
    "^\\w*$",
    "^\\W$",
    "^\\s+$",
    "^\\S$",
    "^\\D$",
    "^[\\w.-]+$",
  ],
  ...[
    "^(a+)+$",
    "^(a*)*$",
    "^(?:a?){3}$",
    "^a{2}$",
    "^a{2,}$",
    "^a{1,3}$",
    "^a{0}$",
    "^a{0,0}b$",
    "^a??b$",
  ],
  ...[
    "^(?<name>a)b$",
    "^[a\\]]$",
    "^[\\-^]$",
    "^\\^$",
    "^\\$$",
    "^a\\$$",
    "^\\\\$",
    "^\\/$",
    "^\\.$",
    "^\\{$",
  ],
  ...[
    "^\\u0061$",
    "^\\u{1F600}$",
    "^\\uD83D\\uDE00+$",
    "^😀{2}$",
    "^[😀ä]$",
    "^\\x61$",
    "^\\0$",
    "^\\cJ$",
  ],
  ...[
    "^\\p{L}$",
    "^\\p{Script=Latin}+$",
    "^\\P{L}+$",
    "^[\\p{L}\\d]*$",
    "^\\n$",
    "^a[\\s\\S]?$",
    "^\\t$",
  ],
  ...[
    "^a\\b.*$",
    "^\\ba$",
    "^\\Ba$",
    "^.\\b-\\b.$",
    "^(?:^a)$",
    "^(?:a$)$",
    "^a$b$",
    "^a^b$",
    "^(?:|a)$",
  ],
  ...[
    "^(?:a|ab)(?:c|bcd)?$",
    "^((a|b)*c|d?)*$",
    "^(?:[a-z0-9]+(?:-[a-z0-9]+)*)(?:\\.[a-z]+)*$",
    "^[--9]$",
  ],
  ...[
    "^https://[a-z.]+(?:/.*)?$",
    "^(?:(?:a{0,2}){0,2}){0,2}$",
    "^(?:)*$",
    "^(?:(?:)*)*a$",
    "^[^\\n]$",
  ],
];

for (const source of PATTERNS) {
  Deno.test(`matches: says what the language's own says: ${source}`, () => {
    const own = new RegExp(source, "u");
    for (const text of TEXTS) {
      assert.equal(isMatch(source, text), own.test(text), JSON.stringify(text));
    }
  });
}

/** Patterns of every part that there is. */
const { pattern: generated } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(
      ..."ab-1 ",
      ".",
      "\\d",
      "\\w",
      "\\s",
      "[ab]",
      "[^a]",
      "[\\w-]",
      "\\b",
      "\\B",
      "😀",
    ),
    fc.constantFrom("^", "$", "(?:)", "\\u{62}", "\\n", "\\p{L}"),
    fc.tuple(tie("part"), tie("part")).map((parts) => parts.join("")),
    fc.tuple(tie("part"), tie("part")).map(([one, other]) => `(?:${one}|${other})`),
    fc.tuple(tie("part"), fc.constantFrom("*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?"))
      .map(([part, repeat]) => `(${part})${repeat}`),
  ),
  pattern: tie("part").map((part) => `^(?:${part})$`),
}));

Deno.test("matches: says what the language's own says of generated patterns and texts", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "-", "1", " ", "\n", "😀"),
    maxLength: 8,
  });
  fc.assert(
    fc.property(generated, fc.array(text, { minLength: 5, maxLength: 5 }), (source, texts) => {
      const own = new RegExp(source, "u");
      for (const one of texts) {
        assert.equal(isMatch(source, one), own.test(one), JSON.stringify(one));
      }
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("matches: what makes a backtracking matcher hang takes steps by length", () => {
  for (
    const source of ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^(.*)*$", "^(\\w+\\s?)*$", "^([a-z]+)*=$"]
  ) {
    const work = workOfOptions();
    const before = work.left;
    assert.notEqual(matches(compiled(source), `${"a".repeat(20_000)}!\n`, work), null, source);
    assert.ok(before - work.left < 20_002 * 20, `${source}: ${before - work.left} steps`);
  }
});

Deno.test("matches: ends where the work is used up, and the next text has none left", () => {
  const work = { left: 100 };
  const pattern = compiled("^[a-z]*$");
  assert.equal(matches(pattern, "a".repeat(1_000), work), null);
  assert.equal(matches(pattern, "a", work), null);
});

const REFUSED: readonly [string, RegExp][] = [
  ["a", /does not begin with \^ and end with \$/],
  ["", /does not begin/],
  ["^a", /does not begin/],
  ["a$", /does not begin/],
  ["^", /does not begin/],
  ["^a|b$", /in each of its alternatives/],
  ["^a$|b", /in each of its alternatives/],
  ["^a\\$", /does not begin/],
  ["\\^a$", /does not begin/],
  ["^a[$]", /does not begin/],
  ["^a|$", /does not begin/],
  ["(^a$)", /does not begin/],
  ["^(?=a)a$", /look-around/],
  ["^(?!a)b$", /look-around/],
  ["^a(?<=a)$", /look-around/],
  ["^a(?<!b)$", /look-around/],
  ["^((?:(?!a).)*)$", /look-around/],
  ["^(a)\\1$", /back-reference/],
  ["^(?<x>a)\\k<x>$", /back-reference/],
  ["^(?i:a)$", /flags/],
  ["^(?-i:a)$", /flags/],
  ["^[a$", /not a regular expression/],
  ["^a{2,1}$", /not a regular expression/],
  ["^(a$", /not a regular expression/],
  ["^*$", /not a regular expression/],
  ["^\\A$", /not a regular expression/],
  ["^[[:alpha:]]$(", /not a regular expression/],
  ["^(a{1000}){1000}$", /more than 10000 parts/],
  ["^(?:(?:){60000}){60000}$", /more than 10000 parts/],
  ["^a{99999999999}$", /more than 10000 parts/],
  [`^${"(".repeat(65)}a${")".repeat(65)}$`, /64 groups/],
];

for (const [source, why] of REFUSED) {
  Deno.test(`compilePattern: refuses ${source.slice(0, 40)}`, () => {
    const pattern = compilePattern(source);
    assert.match(pattern.ok ? "" : pattern.error, why);
  });
}
