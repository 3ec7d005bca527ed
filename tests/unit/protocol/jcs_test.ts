import assert from "node:assert/strict";
import { canonicalJson } from "../../../core/protocol/jcs.ts";

Deno.test("canonicalJson: the example of RFC 8785 §3.2.2", () => {
  const value = {
    numbers: [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
    literals: [null, true, false],
  };
  assert.equal(
    canonicalJson(value),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

Deno.test("canonicalJson: keys are sorted by UTF-16 code units, as in RFC 8785 §3.2.3", () => {
  const value = {
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis",
  };
  const order = [...canonicalJson(value).matchAll(/:"([^"]+)"/g)].map(([, name]) => name);
  assert.deepEqual(order, [
    "Carriage Return",
    "One",
    "Control",
    "Latin Small Letter O With Diaeresis",
    "Euro Sign",
    "Emoji: Grinning Face",
    "Hebrew Letter Dalet With Dagesh",
  ]);
});

Deno.test("canonicalJson: the numbers of RFC 8785 appendix B", () => {
  for (
    const [bits, text] of [
      ["0000000000000000", "0"],
      ["8000000000000000", "0"],
      ["0000000000000001", "5e-324"],
      ["8000000000000001", "-5e-324"],
      ["7fefffffffffffff", "1.7976931348623157e+308"],
      ["4340000000000000", "9007199254740992"],
      ["c340000000000000", "-9007199254740992"],
      ["4430000000000000", "295147905179352830000"],
      ["44b52d02c7e14af5", "9.999999999999997e+22"],
      ["44b52d02c7e14af6", "1e+23"],
      ["444b1ae4d6e2ef4e", "999999999999999700000"],
      ["3eb0c6f7a0b5ed8d", "0.000001"],
      ["41b3de4355555553", "333333333.3333332"],
      ["41b3de4355555557", "333333333.33333343"],
      ["becbf647612f3696", "-0.0000033333333333333333"],
      ["43143ff3c1cb0959", "1424953923781206.2"],
    ] as const
  ) {
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, BigInt(`0x${bits}`));
    assert.equal(canonicalJson(view.getFloat64(0)), text, bits);
  }
});

Deno.test("canonicalJson: what has no canonical text is an error", () => {
  for (const bad of ["\ud800", Number.NaN, Infinity]) assert.throws(() => canonicalJson([bad]));
  assert.throws(() => canonicalJson({ "\udead": 1 }));
});
