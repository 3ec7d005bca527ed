import assert from "node:assert/strict";
import { inspectRuntime } from "../../../../cli/build/runtime.ts";

function elf(machine: number, text: string): Uint8Array {
  const bytes = new Uint8Array(64 + text.length);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2]);
  bytes[18] = machine;
  bytes.set(new TextEncoder().encode(text), 64);
  return bytes;
}

Deno.test("inspectRuntime: reads machine and version", () => {
  const version = "2.6.8";
  const text = "xDeno/2.6.8y";
  assert.deepEqual(inspectRuntime(elf(62, text)), { version, architecture: "amd64" });
  assert.deepEqual(inspectRuntime(elf(183, text)), { version, architecture: "arm64" });
});

Deno.test("inspectRuntime: another machine, another file, or no version is none", () => {
  assert.equal(inspectRuntime(elf(3, "Deno/2.6.8")), null);
  assert.equal(inspectRuntime(elf(62, "nothing")), null);
  assert.equal(inspectRuntime(new TextEncoder().encode("#!/bin/sh\n# Deno/2.6.8")), null);
  assert.equal(inspectRuntime(new Uint8Array()), null);
});
