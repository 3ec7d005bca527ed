import assert from "node:assert/strict";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import { createFakeMachine } from "../../../adapters/fake/machine.ts";
import { findK3sProcesses, isK3sQuiet, k3sWork } from "../../../core/host/k3s_processes.ts";
import {
  mergeK3sSettings,
  readJoinedServer,
  readK3sSettings,
} from "../../../core/host/k3s_settings.ts";
import { tokenHash } from "../../../core/host/k3s_token.ts";
import { isOlderK3s, newestK3s } from "../../../core/host/k3s_version.ts";
import { Secret } from "../../../core/secret.ts";

Deno.test("tokenHash: as a real k3s has it, of a bare token and a full one", () => {
  const full = `K10${"7".repeat(64)}::server:lab-k3s-token-93ac\n`;
  for (const token of ["lab-k3s-token-93ac", full]) {
    assert.equal(tokenHash(new Secret(token)), "902225e6d573", token);
  }
  assert.notEqual(tokenHash(new Secret("a:b")), tokenHash(new Secret("b")));
});

Deno.test("isOlderK3s: number by number, k3s's own last; unknown words are older than nothing", () => {
  const ordered = ["v1.9.9+k3s9", "v1.36.2+k3s2", "v1.36.3+k3s1", "v1.36.3+k3s2", "v1.36.10+k3s1"];
  for (const [index, version] of ordered.entries()) {
    for (const [other, than] of ordered.entries()) {
      assert.equal(isOlderK3s(version, than), index < other, `${version} ${than}`);
    }
  }
  assert.equal(isOlderK3s("latest", "v1.36.3+k3s1"), false);
  assert.equal(isOlderK3s("v1.36.3+k3s1", "latest"), false);
  assert.equal(newestK3s(ordered), "v1.36.10+k3s1");
  assert.equal(newestK3s([]), null);
});

Deno.test("k3sWork: command lines as they are seen, and those of others", () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ["/usr/local/bin/k3s server                  ", "server"],
    ["k3s server        ", "server"],
    ["/usr/local/bin/k3s\0server\0--cluster-reset\0", "server"],
    ["/var/lib/rancher/k3s/data/abc/bin/k3s-server\0", "server"],
    ["/bin/sh\0/root/usr/local/bin/k3s\0server\0", "server"],
    ["/usr/local/bin/k3s\0etcd-snapshot\0save\0", "etcd-snapshot"],
    ["/usr/local/bin/k3s\0kubectl\0get\0server\0", null],
    ["/usr/local/bin/k3s\0--version\0", null],
    ["vi\0/usr/local/bin/k3s\0server\0", null],
    ["grep\0k3s server\0", null],
    ["/usr/bin/journalctl\0-u\0k3s\0server\0", null],
    ["", null],
  ];
  for (const [cmdline, work] of cases) assert.equal(k3sWork(cmdline), work, cmdline);
});

Deno.test("findK3sProcesses: k3s among all; what cannot be seen is no quiet k3s", async () => {
  const machine = createFakeMachine();
  assert.deepEqual(await findK3sProcesses(machine), { ok: true, value: [] });
  assert.equal(await isK3sQuiet(machine), true);
  machine.run([
    { pid: 1, commandLine: "/usr/lib/systemd/systemd" },
    { pid: 42, commandLine: "/usr/local/bin/k3s server     " },
  ]);
  assert.deepEqual(await findK3sProcesses(machine), {
    ok: true,
    value: [{ pid: 42, work: "server" }],
  });
  assert.equal(await isK3sQuiet(machine), false);
  machine.run({ code: "missing", program: "/usr/bin/pgrep", message: "does not exist" });
  assert.equal((await findK3sProcesses(machine)).ok, false);
  assert.equal(await isK3sQuiet(machine), false);
});

Deno.test("readK3sSettings: config.yaml, then drop-ins by name, the last one counts", async () => {
  const disk = createFakeDisk();
  disk.put("/etc/rancher/k3s/config.yaml", "token: first\nnode-name: 7\nserver: ''\n");
  disk.put("/etc/rancher/k3s/config.yaml.d/20.yml", "t: second\netcd-snapshot-dir: /snap\n");
  disk.put("/etc/rancher/k3s/config.yaml.d/10.yaml", "token: between\n");
  disk.put("/etc/rancher/k3s/config.yaml.d/30.txt", "server: https://a:6443\n");
  disk.put("/etc/rancher/k3s/config.yaml.d/40.yaml", "# nothing\n");
  const settings = await readK3sSettings(disk);
  assert.ok(settings.ok);
  const { token, server, nodeName, snapshotDirectory, tokenFile } = settings.value;
  assert.equal(token?.value.reveal(), "second");
  assert.equal(token?.file, "/etc/rancher/k3s/config.yaml.d/20.yml");
  assert.deepEqual([server, nodeName, snapshotDirectory, tokenFile], [null, "7", "/snap", null]);
});

Deno.test("mergeK3sSettings: a server is found under each of its names; bad YAML names its file", () => {
  for (const key of ["server", "s", "server+"]) {
    const merged = mergeK3sSettings([{ path: "/a", text: `${key}: https://b:6443\n` }]);
    assert.deepEqual(merged.ok && merged.value.server, { url: "https://b:6443", file: "/a" }, key);
  }
  for (const text of ["a: [", "- a", "just words"]) {
    const merged = mergeK3sSettings([{ path: "/etc/x.yaml", text }]);
    assert.match(merged.ok ? "" : merged.error, /^\/etc\/x\.yaml is no YAML mapping/, text);
  }
});

Deno.test("readJoinedServer: however YAML writes the key; null where none is told or nothing is readable", async () => {
  const url = "https://10.0.0.1:6443";
  const cases: readonly (readonly [string, string | null])[] = [
    [`server: ${url}`, url],
    [`"server+" : "${url}"`, url],
    [`{token: a, s: "${url}"}`, url],
    [`? 's'\n: ${url}`, url],
    [`"\\x73erver": ${url}`, url],
    [`# the cluster's\n"tls-san": ["server"]`, null],
    [`server: ""`, null],
    [`server: [`, null],
    [`cluster-init: true\nkube-apiserver-arg: [a=b]`, null],
    ["", null],
  ];
  for (const [text, server] of cases) {
    const disk = createFakeDisk();
    disk.put("/etc/rancher/k3s/config.yaml", "token: a\n");
    disk.put("/etc/rancher/k3s/config.yaml.d/10-own.yaml", text);
    assert.equal(await readJoinedServer(disk), server, text);
  }
});
