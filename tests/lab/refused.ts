import assert from "node:assert/strict";

/**
 * Holds what the permission probe printed against what has to come of it: what is allowed is done, all the
 * rest is refused, by the runtime and not because it happens to be missing.
 */
export function assertRefused(printed: string): void {
  const outcomes: Record<string, string> = JSON.parse(printed.trim().split("\n").at(-1) ?? "");
  assert.ok(Object.keys(outcomes).length > 25, printed);
  for (const [what, outcome] of Object.entries(outcomes)) {
    const expected = what.startsWith("allowed: ")
      ? "done"
      // A module that was not compiled in does not exist.
      : what === "code from elsewhere"
      ? "TypeError"
      : "NotCapable";
    assert.equal(outcome, expected, what);
  }
}
