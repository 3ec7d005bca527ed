import assert from "node:assert/strict";
import { changedMembers } from "../../../core/protocol/changed_members.ts";

Deno.test("changedMembers: names each member that differs, and what only one side has", () => {
  const before = { a: 1, b: { c: true, d: "x" }, gone: { deep: 1 }, list: [1, { e: 2 }] };
  const after = { a: 2, b: { c: true, d: "y" }, come: { deep: 2 }, list: [1, { e: 2 }] };
  assert.deepEqual(changedMembers(before, after), [
    { path: "a", from: 1, to: 2 },
    { path: "b.d", from: "x", to: "y" },
    { path: "come.deep", from: undefined, to: 2 },
    { path: "gone.deep", from: 1, to: undefined },
  ]);
  assert.deepEqual(changedMembers(before, before), []);
});

Deno.test("changedMembers: a list and a sealed box are one value", () => {
  const box = (sealed: string) => ({ token: { sealed } });
  assert.deepEqual(changedMembers(box("one"), box("two")).map(({ path }) => path), ["token"]);
  assert.deepEqual(changedMembers({ list: [1] }, { list: [1, 2] }).map(({ path }) => path), [
    "list",
  ]);
  assert.deepEqual(changedMembers({ a: {} }, { a: { b: 1 } }).map(({ path }) => path), ["a.b"]);
  assert.deepEqual(changedMembers({}, { a: {} }).map(({ path }) => path), ["a"]);
  assert.deepEqual(changedMembers({ a: 1 }, { a: { b: 1 } }).map(({ path }) => path), ["a"]);
});
