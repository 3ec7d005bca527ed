import assert from "node:assert/strict";
import fc from "fast-check";
import type { z } from "zod";
import {
  AgentId,
  DnsLabel,
  isOperationId,
  ReleaseVersion,
  Rfc3339,
  ServerId,
  Sha256Hex,
} from "../../../core/protocol/identifiers.ts";

/** An identifier type with values at its edges, inside and just outside. */
interface Case {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly taken: readonly string[];
  readonly refused: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: "DnsLabel",
    schema: DnsLabel,
    taken: ["a", "0", "a-b", "a--b", "node-1", "x".repeat(63)],
    refused: ["A", "-a", "a-", "-", "a.b", "a_b", "x".repeat(64), "ä"],
  },
  {
    name: "AgentId",
    schema: AgentId,
    taken: ["a", "A", "0", "a-b_c", "a-", "x".repeat(64)],
    refused: ["-a", "_a", "a.b", "a+b", "x".repeat(65), "ä"],
  },
  {
    name: "ReleaseVersion",
    schema: ReleaseVersion,
    taken: ["1", "1.2.3", "v1.36.3+k3s1", "2026.08-rc.1", "1..2", "x".repeat(64)],
    refused: [".1", "-1", "+1", "1_2", "x".repeat(65), "1 "],
  },
  {
    name: "ServerId",
    schema: ServerId,
    taken: ["0", "42", "9".repeat(20)],
    refused: ["-1", "+1", "1.5", "1e3", "0x1", "٣", "9".repeat(21)],
  },
  {
    name: "Sha256Hex",
    schema: Sha256Hex,
    taken: ["0".repeat(64), "0123456789abcdef".repeat(4)],
    refused: ["0".repeat(63), "0".repeat(65), "A".repeat(64), "g".repeat(64)],
  },
];

/** What no identifier may hold: it would end a path, a line, an argument or a URL's part. */
const NEVER = [
  "",
  " ",
  "a b",
  "a/b",
  "/a",
  "..",
  ".",
  "../a",
  "a\\b",
  "a\n",
  "\na",
  "a\r",
  "a\0",
  "a%2fb",
  "a?b",
  "a#b",
  "$a",
];

for (const { name, schema, taken, refused } of CASES) {
  Deno.test(`${name}: takes its pattern to the edge and nothing beyond`, () => {
    for (const text of taken) assert.ok(schema.safeParse(text).success, JSON.stringify(text));
    for (const text of [...refused, ...NEVER]) {
      assert.ok(!schema.safeParse(text).success, JSON.stringify(text));
    }
    for (const value of [null, undefined, 1, [taken[0]], {}]) {
      assert.ok(!schema.safeParse(value).success, String(value));
    }
  });

  Deno.test(`${name}: what it takes stays one plain file name and one part of a URL`, () => {
    const nearly = fc.tuple(
      fc.constantFrom(...taken),
      fc.nat(64),
      fc.nat(1),
      fc.oneof(
        fc.constantFrom(..."aZ09.-_+/\\ \n%?#"),
        fc.string({ unit: "binary", maxLength: 2 }),
      ),
    ).map(([text, at, removed, put]) => text.slice(0, at) + put + text.slice(at + removed));
    fc.assert(
      fc.property(nearly, (text) => {
        if (!schema.safeParse(text).success) return;
        assert.match(text, /^[A-Za-z0-9][A-Za-z0-9._+-]*$/);
        assert.equal(new URL(`http://host/${text}`).pathname, `/${text}`);
      }),
      { seed: 20260328, numRuns: 2000 },
    );
  });
}

Deno.test("isOperationId: takes letters, digits, minus and underscore, 64 at most", () => {
  for (const id of ["a", "Z9", "op-1_b", "x".repeat(64)]) assert.ok(isOperationId(id), id);
  for (const id of ["-a", "_a", "a.log", "x".repeat(65), "ä", ...NEVER]) {
    assert.ok(!isOperationId(id), JSON.stringify(id));
  }
});

Deno.test("Rfc3339: takes a time with its zone and no other", () => {
  for (
    const time of ["2026-03-29T01:00:00Z", "2026-03-29T01:00:00.123Z", "2026-03-29T01:00:00+02:00"]
  ) {
    assert.ok(Rfc3339.safeParse(time).success, time);
  }
  const refused = [
    "",
    "2026-03-29",
    "2026-03-29T01:00:00",
    "2026-02-30T01:00:00Z",
    "2026-03-29T24:00:01Z",
    "2026-03-29T01:00:00+2",
    "1774746000",
    "Sun, 29 Mar 2026 01:00:00 GMT",
  ];
  for (const time of refused) assert.ok(!Rfc3339.safeParse(time).success, time);
});
