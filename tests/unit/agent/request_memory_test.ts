import assert from "node:assert/strict";
import fc from "fast-check";
import { openRequestMemory } from "../../../core/agent/request_memory.ts";
import { FRESH_MEMORY } from "../../../core/protocol/reaction.ts";

Deno.test("request memory: the same bytes are never signed twice, even where the clock goes back", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 0, max: 20 }))),
      (requests) => {
        const memory = openRequestMemory();
        const signed = new Set<string>();
        for (const [body, wanted] of requests) {
          const second = memory.secondFor("POST /sync", body, wanted);
          assert.ok(second >= wanted);
          assert.ok(!signed.has(`${body} ${second}`));
          signed.add(`${body} ${second}`);
        }
      },
    ),
    { seed: 16 },
  );
});

Deno.test("request memory: takes the next second only where it must", () => {
  const memory = openRequestMemory();
  assert.equal(memory.secondFor("POST /sync", "a", 100), 100);
  assert.equal(memory.secondFor("POST /sync", "b", 100), 100);
  assert.equal(memory.secondFor("POST /sync", "a", 100), 101);
  assert.equal(memory.secondFor("POST /sync", "a", 100), 102);
  assert.equal(memory.secondFor("POST /sync", "a", 110), 110);
});

Deno.test("request memory: the same body at another path is another request", () => {
  const memory = openRequestMemory();
  assert.equal(memory.secondFor("GET /releases/1.0.0/manifest", "", 100), 100);
  assert.equal(memory.secondFor("GET /releases/1.1.0/manifest", "", 100), 100);
  assert.equal(memory.secondFor("GET /releases/1.0.0/manifest", "", 100), 101);
});

Deno.test("request memory: remembers the last 8 bodies to a path, and not all of them for ever", () => {
  const memory = openRequestMemory();
  for (let body = 0; body < 1_000; body++) memory.secondFor("POST /sync", `${body}`, 100);
  for (let body = 992; body < 1_000; body++) {
    assert.equal(memory.secondFor("POST /sync", `${body}`, 100), 101);
  }
  assert.equal(memory.secondFor("POST /sync", "0", 100), 100);
});

Deno.test("request memory: follows a clock that was set back", () => {
  const memory = openRequestMemory();
  assert.equal(memory.secondFor("POST /sync", "a", 5_000), 5_000);
  assert.equal(memory.secondFor("POST /sync", "a", 1_400), 1_400);
  assert.equal(memory.secondFor("POST /sync", "a", 1_400), 1_401);
  assert.equal(memory.secondFor("POST /sync", "a", 5_000), 5_001);
});

Deno.test("request memory: the second of the start may be one that a killed process signed in", () => {
  const memory = openRequestMemory(100);
  assert.equal(memory.untilOwnSecond(100_000), 1_000);
  assert.equal(memory.untilOwnSecond(100_990), 10);
  assert.equal(memory.untilOwnSecond(101_000), 0);
  assert.equal(memory.untilOwnSecond(99_999), 0);
  assert.equal(openRequestMemory().untilOwnSecond(100_000), 0);
});

Deno.test("request memory: knows each request apart, and does not grow without bound", () => {
  const memory = openRequestMemory();
  const refused = { ...FRESH_MEMORY, refused: 2 };
  memory.remember("a", refused);
  assert.deepEqual(memory.of("a"), refused);
  assert.deepEqual(memory.of("b"), FRESH_MEMORY);
  memory.remember("a", FRESH_MEMORY);
  assert.deepEqual(memory.of("a"), FRESH_MEMORY);

  for (let number = 0; number < 1_000; number++) {
    memory.remember(`key ${number}`, refused);
    memory.remember("used again and again", refused);
  }
  assert.deepEqual(memory.of("key 0"), FRESH_MEMORY);
  assert.deepEqual(memory.of("key 999"), refused);
  assert.deepEqual(memory.of("used again and again"), refused);
});
