import assert from "node:assert/strict";
import { releaseKeysModule } from "../../../../cli/build/bundle.ts";

async function keysOf(source: string): Promise<readonly Uint8Array[]> {
  const url = `data:application/typescript;base64,${btoa(source)}`;
  return (await import(url)).builtInReleaseKeys();
}

Deno.test("releaseKeysModule: gives back the keys that it was made of", async () => {
  const keys = [new Uint8Array(32).fill(0xfe), Uint8Array.from({ length: 32 }, (_, at) => at)];
  assert.deepEqual(await keysOf(releaseKeysModule(keys)), keys);
  assert.deepEqual(await keysOf(releaseKeysModule([])), []);
});
