import assert from "node:assert/strict";
import type { JsonValue } from "../../../core/json.ts";
import { brokenLimit, type LimitedOption } from "../../../core/protocol/option_limits.ts";
import { workOfOptions } from "../../../core/protocol/pattern/pattern.ts";
import { OptionDeclaration } from "../../../core/protocol/release.ts";
import { describeIssue } from "../../../core/protocol/schema_error.ts";

function broken(option: LimitedOption, value: JsonValue) {
  return brokenLimit(option, value, workOfOptions());
}

const LONG = "a".repeat(300_000);

/** Of each option values that keep its limits, and values that break one of them. */
const LIMITS: readonly [LimitedOption, readonly JsonValue[], readonly JsonValue[]][] = [
  [{ type: "string" }, ["", "a\nb", LONG], []],
  [{ type: "string", pattern: "^[a-z]+$" }, ["a", LONG], [
    "",
    "a\n",
    "\na",
    "A",
    "a b",
    "ä",
    "a\u0000",
  ]],
  [{ type: "string", pattern: "^.{2}$" }, ["ab", "😀😀", "e\u0301"], ["a", "é", "a\n", "abc"]],
  [{ type: "string", pattern: "^é$" }, ["é"], ["e\u0301", "e"]],
  [{ type: "string", pattern: "^(a+)+$" }, ["a"], [`${"a".repeat(5_000)}!`]],
  [{ type: "string", maxLength: 2 }, ["", "ab", "😀😀", "é", "a\n"], [
    "abc",
    "😀😀😀",
    "e\u0301e",
    LONG,
  ]],
  [{ type: "string", maxLength: 0 }, [""], ["a"]],
  [{ type: "string", pattern: "^a*$", maxLength: 2 }, ["a"], ["aaa", "b"]],
  [{ type: "string", enum: ["a", "b"] }, ["a"], ["", "A", "c", 1, null, ["a"]]],
  [{ type: "number", minimum: 1, maximum: 5 }, [1, 5, 2.5], [0, 5.1, -1, -0, 9007199254740991]],
  [{ type: "number", minimum: 0 }, [0, -0, 1e308], [-1e-300, -1]],
  [{ type: "number", maximum: 0 }, [0, -0, -1e308], [5e-324]],
  [{ type: "number", enum: [0, 1.5] }, [0, -0, 1.5], [1, "0", false]],
  [{ type: "boolean", enum: [true] }, [true], [false, 1, "true"]],
  [
    { type: "object", enum: [{ a: 1, b: [{ c: null }] }, {}] },
    [{ b: [{ c: null }], a: 1 }, {}],
    [{ a: 1 }, { a: 1, b: [{}] }, { a: 1, b: [{ c: null }], d: 1 }, [], {
      toString: 1,
      valueOf: 1,
    }],
  ],
  [{ type: "array", enum: [["a", "b"], []] }, [["a", "b"], []], [["b", "a"], ["a"], {}, "a"]],
  [{ type: "array", pattern: "^[a-z]$" }, [[], ["a", "b"]], [
    ["a", "B"],
    ["a", 1],
    [["a"]],
    [null],
    [{}],
  ]],
  [{ type: "array", maxLength: 1 }, [["a"], ["😀"]], [["ab"], [1]]],
  [{ type: "array", minimum: 1, maximum: 2 }, [[], [1, 2]], [[0], [3], ["1"], [null], [[1]]]],
  [{ type: "number", secret: true, pattern: "^a$" }, ["a"], ["b"]],
];

for (const [option, kept, breaking] of LIMITS) {
  const { type: _, ...limits } = option;
  Deno.test(`brokenLimit: ${option.type} ${JSON.stringify(limits)}`, () => {
    for (const value of kept) assert.equal(broken(option, value), null, JSON.stringify(value));
    for (const value of breaking) assert.ok(broken(option, value), JSON.stringify(value));
  });
}

Deno.test("brokenLimit: names the limit, and the entry of a list", () => {
  const limitOf = (option: LimitedOption, value: JsonValue) => broken(option, value)?.limit;
  assert.equal(limitOf({ type: "string", pattern: "^a$" }, "b"), "pattern ^a$");
  assert.equal(limitOf({ type: "string", enum: ["a"] }, "b"), 'enum ["a"]');
  assert.equal(limitOf({ type: "string", maxLength: 1 }, "bc"), "maxLength 1");
  assert.equal(limitOf({ type: "number", minimum: 2 }, 1), "minimum 2");
  assert.equal(limitOf({ type: "number", maximum: 2 }, 3), "maximum 2");
  assert.deepEqual(broken({ type: "array", pattern: "^a$" }, ["a", "b", "c"]), {
    entry: 1,
    value: "b",
    limit: "pattern ^a$",
  });
});

Deno.test("brokenLimit: leaves a value of another type to those who judge types", () => {
  assert.equal(broken({ type: "string", pattern: "^a$", maxLength: 1 }, 12), null);
  assert.equal(broken({ type: "number", minimum: 2 }, "1"), null);
  assert.equal(broken({ type: "array", pattern: "^a$" }, "b"), null);
});

Deno.test("brokenLimit: a text that takes more work than is left breaks its pattern, and says so", () => {
  const found = brokenLimit({ type: "string", pattern: "^a*$" }, "a".repeat(500), { left: 100 });
  assert.match(found?.limit ?? "", /^pattern \^a\*\$ \(comparing takes too much work\)$/);
});

const MALFORMED: readonly [object, RegExp][] = [
  [{ type: "string", pattern: "a" }, /^pattern: does not begin with \^ .*write \^\(\?:\.\.\.\)\$/],
  [{ type: "string", pattern: "^(?=a)$" }, /^pattern: has look-around/],
  [{ type: "string", pattern: "^(a)\\1$" }, /^pattern: has a back-reference/],
  [{ type: "string", pattern: "^[$" }, /^pattern: is not a regular expression/],
  [{ type: "string", pattern: 1 }, /^pattern: must be a string/],
  [{ type: "number", pattern: "^a$" }, /^pattern: is not a limit .* of type number can have/],
  [{ type: "object", pattern: "^a$" }, /^pattern: is not a limit/],
  [{ type: "boolean", maxLength: 1 }, /^maxLength: is not a limit/],
  [{ type: "string", maxLength: -1 }, /^maxLength: must/],
  [{ type: "string", maxLength: 1.5 }, /^maxLength: must/],
  [{ type: "string", maxLength: "5" }, /^maxLength: must/],
  [{ type: "string", minimum: 1 }, /^minimum: is not a limit/],
  [{ type: "boolean", maximum: 1 }, /^maximum: is not a limit/],
  [{ type: "number", secret: true, minimum: 1 }, /^minimum: is not a limit that a secret option/],
  [{ type: "number", minimum: 2, maximum: 1 }, /^minimum: 2 is above maximum 1/],
  [{ type: "number", minimum: "1" }, /^minimum: must be a number/],
  [{ type: "number", maximum: Infinity }, /^maximum: must be a number/],
  [{ type: "array", pattern: "^a$", minimum: 1 }, /^minimum: stands beside/],
  [{ type: "string", enum: [] }, /^enum: must have at least 1 entry/],
  [{ type: "string", enum: "a" }, /^enum: must be a list/],
  [{ type: "string", enum: ["a", 1] }, /^enum: entry 1 is not of type string/],
  [{ type: "object", enum: [[]] }, /^enum: entry 0 is not of type object/],
  [{ type: "number", enum: [null] }, /^enum: entry 0 is not of type number/],
  [{ type: "string", pattern: "^a$", default: "b" }, /^default: breaks the limit pattern \^a\$/],
  [{ type: "string", enum: ["a"], default: "b" }, /^default: breaks the limit enum/],
  [{ type: "number", maximum: 1, default: 2 }, /^default: breaks the limit maximum 1/],
  [{ type: "array", maxLength: 1, default: ["ab"] }, /^default: breaks the limit maxLength 1/],
  [{ type: "string", unlimited: "yes" }, /^unlimited: must be true or false/],
];

for (const [option, why] of MALFORMED) {
  Deno.test(`OptionDeclaration: refuses ${JSON.stringify(option)}`, () => {
    const parsed = OptionDeclaration.safeParse(option);
    assert.match(parsed.success ? "" : describeIssue(parsed.error), why);
  });
}

Deno.test("OptionDeclaration: takes what has no limits, and every limit where it belongs", () => {
  for (
    const option of [
      { type: "string" },
      { type: "object", default: { a: 1 } },
      { type: "number", default: "three" },
      { type: "string", pattern: "^a$|^b$", maxLength: 1, default: "b" },
      { type: "number", minimum: 1, maximum: 1, default: 1, enum: [1, 2] },
      { type: "array", pattern: "^a$", maxLength: 9, default: ["a"], unlimited: true },
      { type: "boolean", enum: [true], default: true, unlimited: false },
      { type: "number", secret: true, pattern: "^a$", maxLength: 3, enum: ["a"] },
    ]
  ) {
    assert.ok(OptionDeclaration.safeParse(option).success, JSON.stringify(option));
  }
});
