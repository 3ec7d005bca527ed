import assert from "node:assert/strict";

/** What is refused by others than the list of permissions. */
const OTHERS: Readonly<Record<string, string>> = {
  // A module that was not compiled in does not exist.
  "code from elsewhere": "TypeError",
  "code that is made of a text": "EvalError",
};

/**
 * Holds what the permission probe printed against what has to come of it: what is allowed is done, all the
 * rest is refused, by the runtime and not because it happens to be missing.
 */
export function assertRefused(printed: string): void {
  const outcomes: Record<string, string> = JSON.parse(printed.trim().split("\n").at(-1) ?? "");
  assert.ok(Object.keys(outcomes).length > 25, printed);
  for (const [what, outcome] of Object.entries(outcomes)) {
    const expected = what.startsWith("allowed: ") ? "done" : OTHERS[what] ?? "NotCapable";
    assert.equal(outcome, expected, what);
  }
}
