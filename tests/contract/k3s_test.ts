import assert from "node:assert/strict";
import { createFakeK3s } from "../../adapters/fake/k3s.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeK3s } from "../../adapters/node/k3s.ts";
import { k3sContract } from "./k3s_contract.ts";
import { openStubHost } from "./stub_host.ts";

const PROGRAM = "/usr/local/bin/k3s";

k3sContract("fake", () => {
  const k3s = createFakeK3s(null);
  const install = (version: string | null) => Promise.resolve(k3s.install(version));
  return Promise.resolve({ k3s, install, close: () => Promise.resolve() });
});

k3sContract("node", async () => {
  const host = await openStubHost();
  return {
    k3s: createNodeK3s({ root: host.root, clock: createNodeClock() }),
    async install(version) {
      await Deno.remove(host.root + PROGRAM).catch(() => {});
      const lines = `k3s version ${version} (866d743e)\ngo version go1.26.5`;
      if (version !== null) await host.program(PROGRAM, `[ "$*" = --version ] && echo "${lines}"`);
    },
    close: host.close,
  };
});

Deno.test("createNodeK3s: an exit code or words that are no version are failed", async () => {
  const host = await openStubHost();
  const k3s = createNodeK3s({ root: host.root, clock: createNodeClock() });
  const scripts = [
    "echo 'k3s version v1.36.3+k3s1 (866d743e)'; echo broken >&2; exit 1",
    "echo 'go version go1.26.5'; echo 'k3s version v1.36.3+k3s1 (866d743e)'",
    "echo 'k3s version latest'",
    "true",
  ];
  for (const script of scripts) {
    await host.program(PROGRAM, script);
    const version = await k3s.version();
    assert.equal(version.ok ? version.value : version.error.code, "failed", script);
  }
  await host.close();
});
