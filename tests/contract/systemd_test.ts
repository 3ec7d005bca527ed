import assert from "node:assert/strict";
import { createFakeSystemd } from "../../adapters/fake/systemd.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeSystemd } from "../../adapters/node/systemd.ts";
import { openStubHost, type StubHost } from "./stub_host.ts";
import { STUB_JOURNALCTL, STUB_SYSTEMCTL } from "./stub_systemctl.ts";
import { systemdContract } from "./systemd_contract.ts";

systemdContract("fake", () => {
  const units = { "k3s.service": {}, "failed.service": { state: "failed" } } as const;
  const systemd = createFakeSystemd({ units });
  systemd.logs.set("k3s.service", ["one", "two", "three"]);
  return Promise.resolve({
    systemd,
    isEnabled: (unit) => Promise.resolve(systemd.units.get(unit)?.enabled ?? false),
    close: () => Promise.resolve(),
  });
});

systemdContract("node", async () => {
  const host = await openStubSystemd();
  return {
    systemd: createNodeSystemd({ root: host.root, clock: createNodeClock() }),
    isEnabled: (unit) => exists(`${host.root}/usr/bin/enabled/${unit}`),
    close: host.close,
  };
});

async function openStubSystemd(): Promise<StubHost> {
  const host = await openStubHost();
  await host.program("/usr/bin/systemctl", STUB_SYSTEMCTL);
  await host.program("/usr/bin/journalctl", STUB_JOURNALCTL);
  await host.write("/usr/bin/logs/k3s.service", "one\ntwo\nthree\n");
  await host.write("/usr/bin/units/k3s.service", "inactive\n");
  await host.write("/usr/bin/units/failed.service", "failed\n");
  await Deno.mkdir(`${host.root}/usr/bin/enabled`);
  return host;
}

function exists(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}

Deno.test("createNodeSystemd: calls systemctl with fixed argument lists", async () => {
  const host = await openStubSystemd();
  const systemd = createNodeSystemd({ root: host.root, clock: createNodeClock() });
  await systemd.unitState("k3s.service");
  await systemd.start("k3s.service");
  await systemd.restart("k3s.service");
  await systemd.stop("k3s.service");
  await systemd.enable("k3s.service");
  await systemd.disable("k3s.service");
  await systemd.daemonReload();
  assert.deepEqual((await host.text("/usr/bin/calls")).trim().split("\n"), [
    "is-active k3s.service",
    "start k3s.service --no-block",
    "restart k3s.service --no-block",
    "stop k3s.service",
    "enable k3s.service",
    "disable k3s.service",
    "daemon-reload",
  ]);
  await host.close();
});

Deno.test("createNodeSystemd: every word of is-active has a state", async () => {
  const host = await openStubSystemd();
  const systemd = createNodeSystemd({ root: host.root, clock: createNodeClock() });
  const words = {
    active: "active",
    reloading: "active",
    inactive: "inactive",
    deactivating: "inactive",
    failed: "failed",
    activating: "activating",
    unknown: "unknown",
    maintenance: "unknown",
    "": "unknown",
  };
  for (const [word, state] of Object.entries(words)) {
    await host.write("/usr/bin/units/k3s.service", `${word}\n`);
    assert.equal(await systemd.unitState("k3s.service"), state, word);
  }
  await host.close();
});

Deno.test("createNodeSystemd: without systemctl a state is unknown and a change is missing", async () => {
  const host = await openStubHost();
  const systemd = createNodeSystemd({ root: host.root, clock: createNodeClock() });
  assert.equal(await systemd.unitState("k3s.service"), "unknown");
  const stopped = await systemd.stop("k3s.service");
  assert.equal(stopped.ok ? "" : stopped.error.code, "missing");
  await host.close();
});

Deno.test("createNodeSystemd: a host without a bus has stopped and disabled nothing", async () => {
  const host = await openStubHost();
  const words = "Failed to connect to bus: No such file or directory";
  await host.program("/usr/bin/systemctl", `echo "${words}" >&2; exit 1`);
  const systemd = createNodeSystemd({ root: host.root, clock: createNodeClock() });
  for (const verb of ["stop", "disable"] as const) {
    const result = await systemd[verb]("k3s.service");
    assert.equal(result.ok ? "" : result.error.code, "failed");
    assert.ok(!result.ok && result.error.message.includes(words));
  }
  await host.close();
});

Deno.test("createNodeSystemd: what is no unit name reaches no program", async () => {
  const host = await openStubSystemd();
  const systemd = createNodeSystemd({ root: host.root, clock: createNodeClock() });
  for (const unit of ["", "k3s", "--all", "-k3s.service", "k3s.service --now", "../x.service"]) {
    await assert.rejects(async () => await systemd.start(unit), RangeError, unit);
    await assert.rejects(async () => await systemd.unitState(unit), RangeError, unit);
  }
  assert.equal(await host.text("/usr/bin/calls"), "");
  await host.close();
});
