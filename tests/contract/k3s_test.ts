import assert from "node:assert/strict";
import { createFakeK3s } from "../../adapters/fake/k3s.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeK3s } from "../../adapters/node/k3s.ts";
import { k3sContract, type K3sScript } from "./k3s_contract.ts";
import { openStubHost } from "./stub_host.ts";

const PROGRAM = "/usr/local/bin/k3s";

k3sContract("fake", () => {
  let script: K3sScript = { lines: [], code: 0 };
  const run = (_what: unknown, print: (line: string) => void) => {
    script.lines.forEach(print);
    return { code: script.code };
  };
  const k3s = createFakeK3s(null, { save: run, reset: run });
  const install = (version: string | null, next = script) => {
    script = next;
    return Promise.resolve(k3s.install(version));
  };
  return Promise.resolve({ k3s, install, close: () => Promise.resolve() });
});

k3sContract("node", async () => {
  const host = await openStubHost();
  return {
    k3s: createNodeK3s({ root: host.root, clock: createNodeClock() }),
    async install(version, { lines, code } = { lines: [], code: 0 }) {
      await Deno.remove(host.root + PROGRAM).catch(() => {});
      const words = `k3s version ${version} (866d743e)\ngo version go1.26.5`;
      const rest = `${lines.map((line) => `echo "${line}" >&2\n`).join("")}exit ${code}`;
      const script = `[ "$*" = --version ] && echo "${words}" && exit\n${rest}`;
      if (version !== null) await host.program(PROGRAM, script);
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

Deno.test("createNodeK3s: runs k3s with fixed arguments, whose paths are below the root", async () => {
  const host = await openStubHost();
  const k3s = createNodeK3s({ root: host.root, clock: createNodeClock() });
  await host.program(PROGRAM, 'for each in "$@"; do echo "$each"; done');
  const save = await k3s.saveSnapshot("pbx-op_1");
  assert.deepEqual(save.ok && save.value.output.trim().split("\n"), [
    "etcd-snapshot",
    "save",
    "--name",
    "pbx-op_1",
  ]);
  const reset = await k3s.resetCluster({ snapshot: "/var/a", tokenFile: "/var/b" });
  assert.deepEqual(reset.ok && reset.value.output.trim().split("\n"), [
    "server",
    "--cluster-reset",
    `--cluster-reset-restore-path=${host.root}/var/a`,
    "--etcd-s3=false",
    `--token-file=${host.root}/var/b`,
  ]);
  const plain = await k3s.resetCluster({ snapshot: "/var/a" });
  assert.ok(plain.ok && !plain.value.output.includes("token"));
  for (const name of ["", "-x", "a/b", "../a", "a b", "--etcd-s3"]) {
    assert.throws(() => k3s.saveSnapshot(name), RangeError, name);
  }
  assert.throws(() => k3s.resetCluster({ snapshot: "../../etc/x" }), RangeError);
  await host.close();
});
