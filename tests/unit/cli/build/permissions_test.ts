import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { V8_FLAGS } from "../../../../cli/build/compile.ts";
import { permissionFlags, PERMISSIONS } from "../../../../cli/build/permissions.ts";
import * as paths from "../../../../core/state/paths.ts";
import { mustRun } from "../../../lab/command.ts";
import { assertRefused } from "../../../lab/refused.ts";

const PROBE = fileURLToPath(new URL("../../../lab/permission_probe.ts", import.meta.url));

Deno.test("permissionFlags: the runtime refuses what is not in the list", async () => {
  const flags = [
    ...permissionFlags(),
    V8_FLAGS,
    "--no-config",
    "--no-check",
    "--no-lock",
    "--quiet",
  ];
  assertRefused(await mustRun(Deno.execPath(), ["run", ...flags, PROBE]));
});

Deno.test("permissionFlags: nothing is open as a whole but the network, and nothing widens", () => {
  const flags = permissionFlags();
  for (const flag of ["--allow-net", "--deny-ffi", "--deny-import", "--no-prompt"]) {
    assert.ok(flags.includes(flag), flag);
  }
  for (const flag of flags) assert.match(flag, /=|^--(?:allow-net|deny-|no-prompt)/);
  assert.doesNotMatch(flags.join(" "), /allow-(?:all|ffi|import)/);
});

Deno.test("PERMISSIONS: absolute paths, a reason each, no shell, nothing that it runs is its own", () => {
  const owned = PERMISSIONS.filter(({ may }) => may === "own").map(({ what }) => what);
  for (const { may, what, why } of PERMISSIONS) {
    assert.ok(why.length > 10, what);
    if (may === "env" || may === "sys") continue;
    assert.match(what, /^(?:\/[A-Za-z0-9._-]+)+$/, what);
    if (may !== "run") continue;
    assert.doesNotMatch(what, /\/(?:ba|da)?sh$|\/env$|python|perl/);
    // The runtime would refuse to write the whole folder.
    for (const path of owned) assert.ok(!what.startsWith(`${path}/`), `${path} holds ${what}`);
  }
});

Deno.test("PERMISSIONS: every path of the agent lies in what it owns, or may read", () => {
  const open = PERMISSIONS.filter(({ may }) => may === "own" || may === "read");
  for (const [name, path] of Object.entries(paths)) {
    if (typeof path !== "string" || !path.startsWith("/")) continue;
    assert.ok(open.some(({ what }) => path === what || path.startsWith(`${what}/`)), name);
  }
});

Deno.test("PERMISSIONS: every program that an adapter names may be run, and no other", async () => {
  const allowed = PERMISSIONS.filter(({ may }) => may === "run").map(({ what }) => what);
  const named = new Set<string>();
  const folder = new URL("../../../../adapters/node/", import.meta.url);
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".ts")) continue;
    const text = await Deno.readTextFile(new URL(name, folder));
    for (const [, path = ""] of text.matchAll(/"(\/usr\/(?:local\/)?s?bin\/[a-z0-9-]+)"/g)) {
      named.add(path);
    }
  }
  assert.deepEqual([...named].sort(), allowed.sort());
});

Deno.test("permissionFlags: a lab's root goes before every path", () => {
  const flags = permissionFlags("/lab/root");
  for (const flag of flags.filter((one) => /allow-(?:read|write|run)/.test(one))) {
    for (const path of (flag.split("=")[1] ?? "").split(",")) assert.match(path, /^\/lab\/root\//);
  }
});
