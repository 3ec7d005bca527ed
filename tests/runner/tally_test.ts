import assert from "node:assert/strict";
import { inWords, sum, tallyOf } from "./tally.ts";

const tally = (passed: number, failed: number, ignored = 0) => ({ passed, failed, ignored });

Deno.test("tallyOf: reads what deno test closes with, in colours as well", () => {
  assert.deepEqual(tallyOf("ok | 12 passed | 0 failed (7ms)\n", 0), tally(12, 0));
  assert.deepEqual(tallyOf("ok | 1 passed (2 steps) | 0 failed (7ms)", 0), tally(1, 0));
  assert.deepEqual(
    tallyOf("FAILED | 1 passed (1 step) | 2 failed (3 steps) | 4 ignored (7ms)", 1),
    tally(1, 2, 4),
  );
  assert.deepEqual(
    tallyOf("\x1b[0m\x1b[32mok\x1b[0m | 3 passed | 0 failed \x1b[0m(1ms)", 0),
    tally(3, 0),
  );
});

Deno.test("tallyOf: takes the closing line, not one that a test printed", () => {
  const printed = "ok | 99 passed | 0 failed\nsaid: ok | 7 passed | 0 failed\n";
  assert.deepEqual(tallyOf(`${printed}FAILED | 1 passed | 1 failed (1ms)\n`, 1), tally(1, 1));
});

Deno.test("tallyOf: a run without a tally, or with one that its exit code denies, failed", () => {
  assert.deepEqual(tallyOf("", 0), tally(0, 1));
  assert.deepEqual(tallyOf("ok | 0 passed | 0 failed (0ms)", 0), tally(0, 1));
  assert.deepEqual(tallyOf("error: No test modules found", 1), tally(0, 1));
  assert.deepEqual(tallyOf("ok | 5 passed | 0 failed", 1), tally(5, 1));
  assert.deepEqual(tallyOf("ok | 5 passed | 0 failed", 137), tally(5, 1));
});

Deno.test("inWords: names what was left out only where there is some", () => {
  assert.equal(inWords(sum([tally(1, 0), tally(2, 3)])), "3 passed, 3 failed");
  assert.equal(inWords(tally(1, 0, 2)), "1 passed, 0 failed, 2 skipped");
});
