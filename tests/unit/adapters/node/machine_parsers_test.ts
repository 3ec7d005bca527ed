import assert from "node:assert/strict";
import { parseBootId } from "../../../../adapters/node/boot_id.ts";
import { parseMemAvailable, parseUptimeSeconds } from "../../../../adapters/node/machine_files.ts";
import { parseControlGroups, parseProcessList } from "../../../../adapters/node/process_list.ts";

Deno.test("parseMemAvailable: bytes, or null where the kernel does not say", () => {
  assert.equal(parseMemAvailable("MemAvailable: 1 kB\n"), 1024);
  assert.equal(parseMemAvailable("MemAvailable: 0 kB"), 0);
  for (const text of ["", "MemTotal: 1 kB", "xMemAvailable: 1 kB", "MemAvailable: -1 kB"]) {
    assert.equal(parseMemAvailable(text), null, text);
  }
});

Deno.test("parseUptimeSeconds: whole seconds, never rounded up", () => {
  assert.equal(parseUptimeSeconds("0.00 0.00\n"), 0);
  assert.equal(parseUptimeSeconds("59.99 1.00\n"), 59);
  assert.equal(parseUptimeSeconds("7"), 7);
  for (const text of ["", "x", "-1.00 0", "1e3 0", ".5"]) {
    assert.equal(parseUptimeSeconds(text), null, text);
  }
});

Deno.test("parseBootId: a UUID and nothing else", () => {
  const id = "5cc31d0c-2f6b-4a5e-9c0d-3a1f7b8e9d01";
  assert.equal(parseBootId(`${id}\n`), id);
  for (const text of ["", "5cc31d0c", `${id}0`, `${id} ${id}`, id.toUpperCase()]) {
    assert.equal(parseBootId(text), null, text);
  }
});

Deno.test("parseControlGroups: processes at every depth, groups left out", () => {
  const tree = [
    "Control group /:",
    "-.slice",
    "├─init.scope ",
    "│ └─1 /lib/systemd/systemd --system 31",
    "└─system.slice ",
    "  ├─k3s.service ",
    "  │ ├─  4711 /usr/local/bin/k3s server                  ",
    "  │ └─ 14712 containerd -c a.toml",
    "  ├─123.service (#123)",
    "  └─pbx-agent.service ",
    "    └─99 /var/lib/pbx-agent/bin/pbx-agent run",
    "",
  ].join("\n");
  const ascii = tree.replaceAll("├─", "|-").replaceAll("└─", "`-").replaceAll("│", "|");
  for (const drawn of [tree, ascii]) {
    assert.deepEqual(parseControlGroups(drawn).map(({ pid }) => pid), [1, 4711, 14712, 99]);
  }
  assert.equal(parseControlGroups(tree)[1]?.commandLine.trim(), "/usr/local/bin/k3s server");
});

Deno.test("parseProcessList: a number and a command line a line", () => {
  assert.deepEqual(parseProcessList("7 /usr/local/bin/k3s server\n12 k3s\nnoise\n"), [
    { pid: 7, commandLine: "/usr/local/bin/k3s server" },
    { pid: 12, commandLine: "k3s" },
  ]);
});
