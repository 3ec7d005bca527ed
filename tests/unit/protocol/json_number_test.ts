import assert from "node:assert/strict";
import fc from "fast-check";
import { numberFault } from "../../../core/protocol/json_number.ts";

const KEPT = [
  ..."0 -0 0.0 -0.0 0e999999999999 0e-5 1 -1 7 1e3 1E3 1e+3 1.5e1 10.0 100e-2 0.1 -0.1 1.10".split(
    " ",
  ),
  ..."0.30000000000000004 1e-7 123456789.125 5e-324 2.2250738585072014e-308".split(" "),
  ..."9007199254740991 -9007199254740991 9007199254740991.0 90071992547409910e-1".split(" "),
  `1${"0".repeat(400)}e-400`,
  `0.${"0".repeat(400)}1e401`,
];

const REFUSED: readonly [string, RegExp][] = [
  ...["9007199254740992", "-9007199254740992", "9007199254740993", "12345678901234567890"],
  ...["1e16", "1e21", "1.5e300", "9007199254740992.0", "90071992547409920e-1"],
].map((literal): [string, RegExp] => [literal, /beyond ±\(2\^53 - 1\)/]).concat(
  ["1e400", "-1e400", "1e309", "1E+999999999999999999999", `1${"0".repeat(400)}`].map((literal) => [
    literal,
    /beyond what a double can hold/,
  ]),
  [
    ...["1e-400", "-1e-400", "1e-999999999999999999999", "0.1000000000000000055511151231257827"],
    ...["3.141592653589793238", "123456789.123456789123", "9007199254740991.4", "4.9e-324"],
    ...["1.00000000000000000001", "0.30000000000000001"],
  ].map((literal) => [literal, /more digits than a double keeps/]),
);

Deno.test("numberFault: a number whose value a double says again is kept, however it is written", () => {
  for (const literal of KEPT) assert.equal(numberFault(literal), null, literal);
});

Deno.test("numberFault: a number that would become another one is refused", () => {
  for (const [literal, why] of REFUSED) assert.match(numberFault(literal) ?? "", why, literal);
});

/** A decimal text as a fraction of whole numbers. */
function fractionOf(literal: string): readonly [bigint, bigint] {
  const [mantissa = "", power = "0"] = literal.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const exponent = Number(power) - fraction.length;
  const digits = BigInt(whole + fraction);
  return exponent >= 0
    ? [digits * 10n ** BigInt(exponent), 1n]
    : [digits, 10n ** BigInt(-exponent)];
}

function isKept(literal: string): boolean {
  const value = Number(literal);
  if (!Number.isFinite(value)) return false;
  const [top, bottom] = fractionOf(literal.replace(/^-/, ""));
  const [keptTop, keptBottom] = fractionOf(String(Math.abs(value)));
  if (top * keptBottom !== keptTop * bottom) return false;
  return top % bottom !== 0n || top / bottom <= 2n ** 53n - 1n;
}

Deno.test("numberFault: says what whole-number arithmetic says", () => {
  const digits = (most: number) =>
    fc.array(fc.constantFrom(..."0123456789"), { minLength: 1, maxLength: most })
      .map((all) => all.join(""));
  const literal = fc.record({
    sign: fc.constantFrom("", "-"),
    whole: digits(20).map((text) => text.replace(/^0+(?=.)/, "")),
    fraction: fc.option(digits(20), { nil: null }),
    power: fc.option(fc.integer({ min: -330, max: 330 }), { nil: null }),
  }).map(({ sign, whole, fraction, power }) =>
    `${sign}${whole}${fraction === null ? "" : `.${fraction}`}${power === null ? "" : `e${power}`}`
  );
  const near = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.bigInt(2n ** 53n - 9n, 2n ** 53n + 9n).map(String),
    fc.double({ min: 0, max: 1, noNaN: true }).map((value) => `${value.toFixed(20)}`),
  );
  fc.assert(
    fc.property(fc.oneof(literal, near), (text) => {
      assert.equal(numberFault(text) === null, isKept(text), text);
    }),
    { seed: 20260314, numRuns: 5_000 },
  );
});
