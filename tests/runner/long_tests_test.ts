import assert from "node:assert/strict";
import { LONG_TESTS } from "../simulate/long_tests.ts";

/** By what a test plays only a sample unless PBX_LONG=1. */
const SAMPLES = /\bPBX_LONG\b|\bIS_LONG\b|\b(?:cut|clock)Matrix\(/;
/** Runs with seeds of its own in the nightly run. */
const ELSEWHERE = ["tests/unit/servers/several_servers_test.ts"];

Deno.test("nightly: lists every unit test that plays a sample by default", async () => {
  const found = [];
  for await (const path of testFiles("tests/unit")) {
    if (SAMPLES.test(await Deno.readTextFile(path))) found.push(path);
  }
  assert.deepEqual(found.sort(), [...LONG_TESTS, ...ELSEWHERE].sort());
});

async function* testFiles(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* testFiles(`${folder}/${name}`);
    else if (name.endsWith("_test.ts")) yield `${folder}/${name}`;
  }
}
