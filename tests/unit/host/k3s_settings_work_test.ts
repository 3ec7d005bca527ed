import assert from "node:assert/strict";
import { mergeK3sSettings } from "../../../core/host/k3s_settings.ts";

const DOUBLING = Array.from(
  { length: 9 },
  (_, index) =>
    `a${index}: &a${index} [${Array(10).fill(index === 0 ? "x" : `*a${index - 1}`).join(",")}]`,
);

for (
  const [what, text] of [
    ["aliases of aliases", DOUBLING.join("\n")],
    ["lists without end", "[".repeat(60_000)],
    ["objects without end", "{a: ".repeat(15_000)],
    ["a key twice", "node-name: one\nnode-name: two"],
    ["the same key again and again", "a: 1\n".repeat(10_000)],
    ["anchors", `a: ${"&a ".repeat(20_000)}`],
    ["escapes", `a: "${"\\x".repeat(30_000)}"`],
  ] as const
) {
  Deno.test(`mergeK3sSettings: ${what} are refused with the file's name, and nothing throws`, () => {
    const begun = performance.now();
    const merged = mergeK3sSettings([{ path: "/etc/one.yaml", text }]);
    assert.ok(!merged.ok && merged.error.startsWith("/etc/one.yaml "));
    // Milliseconds; 24 s where each key was compared with all others.
    assert.ok(performance.now() - begun < 5_000, `${performance.now() - begun} ms`);
  });
}

Deno.test("mergeK3sSettings: many keys are read in time that grows with them", () => {
  const text = Array.from({ length: 6_000 }, (_, index) => `k${index}: 1`).join("\n");
  assert.ok(mergeK3sSettings([{ path: "/etc/one.yaml", text }]).ok);
});
