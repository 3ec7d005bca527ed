import assert from "node:assert/strict";

/** `value`, which the test knows to be there; fails the test where it is not. */
export function present<T>(value: T): NonNullable<T> {
  assert.ok(value !== null && value !== undefined, "a value that the test needs is missing");
  return value;
}
