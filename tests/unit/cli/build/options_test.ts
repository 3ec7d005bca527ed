import assert from "node:assert/strict";
import { type BuildOptions, parseBuildOptions } from "../../../../cli/build/options.ts";

const KEY_A = btoa("a".repeat(32));
const KEY_B = btoa("b".repeat(32));

function parsed(...args: string[]): BuildOptions {
  const options = parseBuildOptions(args);
  assert.ok(options.ok && options.value !== "help", JSON.stringify(options));
  return options.value;
}

Deno.test("parseBuildOptions: without arguments both machines, whichever can be built", () => {
  const { architectures, mustHaveAll, releaseKeys, out } = parsed();
  assert.deepEqual(
    { architectures, mustHaveAll, releaseKeys, out },
    { architectures: ["amd64", "arm64"], mustHaveAll: false, releaseKeys: [], out: "dist" },
  );
});

Deno.test("parseBuildOptions: what is named must be built", () => {
  assert.deepEqual(parsed("--arch", "arm64").architectures, ["arm64"]);
  assert.equal(parsed("--arch", "arm64").mustHaveAll, true);
  assert.equal(parsed("--all").mustHaveAll, true);
});

Deno.test("parseBuildOptions: takes two different release keys or none", () => {
  const keys = parsed("--release-key", KEY_A, "--release-key", KEY_B).releaseKeys;
  assert.deepEqual(keys.map((key) => key[0]), [97, 98]);
});

Deno.test("parseBuildOptions: refuses what it cannot mean", () => {
  const refused: readonly (readonly string[])[] = [
    ["--arch", "riscv64"],
    ["--all", "--arch", "amd64"],
    ["--release-key", KEY_A],
    ["--release-key", KEY_A, "--release-key", KEY_A],
    ["--release-key", KEY_A, "--release-key", "AAAA"],
    ["--release-key", KEY_A, "--release-key", KEY_B, "--release-key", btoa("c".repeat(32))],
    ["--download-url", "http://example.com"],
    ["--download-url", 'https://example.com/"; rm'],
    ["--downlod-url", "https://example.com"],
    ["dist"],
  ];
  for (const args of refused) assert.equal(parseBuildOptions(args).ok, false, args.join(" "));
});
