import assert from "node:assert/strict";
import { parseLcov, percent, total } from "./coverage.ts";

Deno.test("parseLcov: gives lines and branches of every file, with its path in the repository", () => {
  const lcov = [
    "SF:/repo/core/json.ts\nFN:1,f\nBRDA:1,0,0,1\nBRF:4\nBRH:3\nDA:1,1\nLH:9\nLF:10\nend_of_record\n",
    "SF:/repo/core/result.ts\nBRF:0\nBRH:0\nLH:0\nLF:5\nend_of_record\n",
  ].join("");
  const files = parseLcov(lcov, "/repo");
  assert.deepEqual(files, [
    { path: "core/json.ts", lines: { hit: 9, found: 10 }, branches: { hit: 3, found: 4 } },
    { path: "core/result.ts", lines: { hit: 0, found: 5 }, branches: { hit: 0, found: 0 } },
  ]);
  assert.equal(percent(total(files.map(({ lines }) => lines))), 60);
});

Deno.test("percent: of nothing, everything is covered", () => {
  assert.equal(percent({ hit: 0, found: 0 }), 100);
});
