import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { withoutToken } from "../../../core/state/config.ts";

Deno.test("withoutToken: the token's lines go, every other byte stays", () => {
  const table: [string, string, string][] = [
    [
      "comments around it",
      "# first\nportal: a  # here\n\nenrollment_token: abc\n# last\n",
      "# first\nportal: a  # here\n\n# last\n",
    ],
    ["the only key", "enrollment_token: abc\n", ""],
    ["the first line", "enrollment_token: abc\nportal: a\n", "portal: a\n"],
    ["the last line, without its end", "portal: a\nenrollment_token: abc", "portal: a\n"],
    ["CRLF", "portal: a\r\nenrollment_token: abc\r\nnode: b\r\n", "portal: a\r\nnode: b\r\n"],
    ["single quotes", "a: 1\nenrollment_token: 'a # b'\nb: 2\n", "a: 1\nb: 2\n"],
    ["double quotes", 'a: 1\nenrollment_token: "a\\nb"\nb: 2\n', "a: 1\nb: 2\n"],
    ["a comment on its line", "a: 1\nenrollment_token: abc # once\nb: 2\n", "a: 1\nb: 2\n"],
    ["quoted over two lines", 'a: 1\nenrollment_token: "ab\n  cd"\nb: 2\n', "a: 1\nb: 2\n"],
    ["the value below the key", "a: 1\nenrollment_token:\n  abc\nb: 2\n", "a: 1\nb: 2\n"],
    ["block scalar", "a: 1\nenrollment_token: |\n  abc\nb: 2\n", "a: 1\nb: 2\n"],
    ["folded, kept lines", "a: 1\nenrollment_token: >+\n  abc\n\nb: 2\n", "a: 1\nb: 2\n"],
    ["block scalar at the end", "a: 1\nenrollment_token: |-\n  abc", "a: 1\n"],
    ["a quoted key", 'a: 1\n"enrollment_token": abc\nb: 2\n', "a: 1\nb: 2\n"],
    ["an explicit key", "a: 1\n? enrollment_token\n: abc\nb: 2\n", "a: 1\nb: 2\n"],
    [
      "the same text in a comment",
      "# enrollment_token: x\nenrollment_token: x\n",
      [
        "# enrollment_token: x\n",
      ].join(),
    ],
    ["a byte order mark", "\ufeffa: 1\nenrollment_token: abc\n", "\ufeffa: 1\n"],
    ["umlauts", "# für dich\nenrollment_token: äöü\nb: 2\n", "# für dich\nb: 2\n"],
    [
      "flow mapping over lines",
      "{\n  a: 1,\n  enrollment_token: abc,\n  b: 2\n}\n",
      "{\n  a: 1,\n  b: 2\n}\n",
    ],
  ];
  for (const [name, before, after] of table) assert.equal(withoutToken(before), after, name);
});

Deno.test("withoutToken: a flow mapping on one line is written anew without it", () => {
  for (const before of ["{a: 1, enrollment_token: abc, b: 2}\n", "{enrollment_token: abc, a: 1}"]) {
    const after = withoutToken(before);
    assert.ok(after !== null && !after.includes("abc"));
    const { enrollment_token: _token, ...rest } = parse(before);
    assert.deepEqual(parse(after), rest);
  }
});

Deno.test("withoutToken: nothing to do without a token of the file's own", () => {
  for (
    const text of ["", "a: 1\n", "- enrollment_token\n", "a:\n  enrollment_token: x\n", "a: ["]
  ) {
    assert.equal(withoutToken(text), null, text);
  }
});

Deno.test("withoutToken: wherever the token stands and however it is written", () => {
  const line = fc.constantFrom(
    ...["a: 1", "b: 'x: y'", "c: |\n  one\n  two", "d:\n  - 1\n  - 2", "e: {x: 1, y: [2]}"],
    ...["# a comment", "", 'f: "quoted # no comment"', "g: text # comment"],
  );
  const value = fc.constantFrom(
    ...["t0ken", "'t0ken'", '"t0ken"', "t0ken  # the token", "|\n  t0ken", ">-\n  t0ken"],
    ...["|\n    t0ken", "\n  t0ken", '"t0ken\\\n  more"', "&anchor t0ken", "!!str t0ken"],
  );
  const lines = fc.uniqueArray(line, { maxLength: 6 });
  fc.assert(
    fc.property(lines, lines, value, fc.constantFrom("\n", "\r\n"), (some, others, token, end) => {
      const after = others.filter((one) => !some.includes(one));
      const join = (all: string[]) => all.map((one) => `${one}\n`).join("").replaceAll("\n", end);
      const before = join([...some, `enrollment_token: ${token}`, ...after]);
      assert.equal(withoutToken(before), join([...some, ...after]), JSON.stringify(before));
    }),
    { seed: 15, numRuns: 500 },
  );
});
