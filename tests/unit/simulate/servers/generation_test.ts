import assert from "node:assert/strict";
import { createFakeK8s } from "../../../../adapters/fake/k8s.ts";
import { createGeneration } from "../../../../simulate/servers/generation.ts";

/** Members m0 up to m4 on the servers 0 up to 4, some of which are down, some ways between them cut. */
function withServers(down: readonly number[], cut: readonly (readonly [number, number])[] = []) {
  return createGeneration(createFakeK8s(), {
    runs: (server) => !down.includes(server),
    reaches: (a, b) => !cut.some((pair) => pair.includes(a) && pair.includes(b) && a !== b),
  }, [0, 1, 2, 3, 4].map((server) => [`m${server}`, server] as const));
}

// These three are what an etcd 3.6 of five members answered.
Deno.test("takesOut: an active member goes only if the active ones are a majority without it", () => {
  const generation = withServers([1, 2]);
  assert.equal(generation.takesOut(0, "m4"), false);
  assert.equal(generation.takesOut(0, "m2"), true);
  generation.remove("m2");
  assert.equal(generation.takesOut(0, "m4"), true);
});

Deno.test("takesOut: one that the asked member does not reach counts as down, although it holds the majority up", () => {
  const generation = withServers([1, 2], [[3, 4]]);
  assert.equal(generation.takesOut(0, "m4"), false);
  assert.equal(generation.takesOut(3, "m4"), true);
});

Deno.test("follows: whoever reaches the leader, which reaches a majority; followers need not reach each other", () => {
  const generation = withServers([1, 2], [[3, 4]]);
  assert.equal(generation.leader(), 0);
  assert.deepEqual(["m0", "m1", "m3", "m4"].map(generation.follows), [true, false, true, true]);
  assert.equal(withServers([0, 1, 2]).leader(), null);
});

Deno.test("takesOut: neither without a majority, nor through one without a vote", () => {
  assert.equal(withServers([1, 2, 3]).takesOut(0, "m1"), false);
  const generation = withServers([]);
  generation.learners.add("m0");
  assert.equal(generation.takesOut(0, "m1"), false);
  assert.equal(generation.takesOut(1, "m0"), true);
});
