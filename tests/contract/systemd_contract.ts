import assert from "node:assert/strict";
import type { Systemd } from "../../core/ports/systemd.ts";

/**
 * An adapter on a host with the units `k3s.service` (inactive, disabled; its log has the lines `one`,
 * `two`, `three`) and `failed.service` (without a log).
 */
export interface SystemdWorld {
  readonly systemd: Systemd;
  isEnabled(unit: string): Promise<boolean>;
  close(): Promise<void>;
}

const K3S = "k3s.service";
const ABSENT = "absent.service";

/** What every {@link Systemd} does. A start that is queued is carried out before the next call here. */
export function systemdContract(name: string, open: () => Promise<SystemdWorld>): void {
  const test = (what: string, run: (world: SystemdWorld) => Promise<void>) =>
    Deno.test(`systemd (${name}): ${what}`, async () => {
      const world = await open();
      try {
        await run(world);
      } finally {
        await world.close();
      }
    });

  test("start and stop change the state", async ({ systemd }) => {
    assert.equal(await systemd.unitState(K3S), "inactive");
    assert.deepEqual(await systemd.start(K3S), { ok: true, value: undefined });
    assert.equal(await systemd.unitState(K3S), "active");
    assert.deepEqual(await systemd.stop(K3S), { ok: true, value: undefined });
    assert.equal(await systemd.unitState(K3S), "inactive");
    assert.ok((await systemd.stop(K3S)).ok, "stopping a stopped unit is no error");
  });

  test("journal gives the last lines, oldest first", async ({ systemd }) => {
    assert.deepEqual(await systemd.journal(K3S, 2), { ok: true, value: ["two", "three"] });
    assert.deepEqual(await systemd.journal(K3S, 10), { ok: true, value: ["one", "two", "three"] });
    assert.deepEqual(await systemd.journal("failed.service", 10), { ok: true, value: [] });
  });

  test("restart starts a unit that is down or failed", async ({ systemd }) => {
    assert.equal(await systemd.unitState("failed.service"), "failed");
    for (const unit of [K3S, "failed.service"]) {
      assert.ok((await systemd.restart(unit)).ok);
      assert.equal(await systemd.unitState(unit), "active");
    }
  });

  test("enable and disable last", async ({ systemd, isEnabled }) => {
    assert.ok((await systemd.enable(K3S)).ok);
    assert.equal(await isEnabled(K3S), true);
    assert.ok((await systemd.disable(K3S)).ok);
    assert.equal(await isEnabled(K3S), false);
    assert.ok((await systemd.disable(K3S)).ok, "disabling twice is no error");
    assert.equal(await systemd.unitState(K3S), "inactive", "enabling starts nothing");
  });

  test("a unit that does not exist counts as stopped and disabled", async ({ systemd }) => {
    assert.ok((await systemd.stop(ABSENT)).ok);
    assert.ok((await systemd.disable(ABSENT)).ok);
  });

  test("a unit that does not exist cannot be started or enabled", async ({ systemd }) => {
    for (const verb of ["start", "restart", "enable"] as const) {
      const result = await systemd[verb](ABSENT);
      assert.equal(result.ok ? "" : result.error.code, "failed");
      assert.ok(!result.ok && result.error.program.endsWith("/usr/bin/systemctl"));
      assert.match(result.ok ? "" : result.error.message, new RegExp(`${verb} ${ABSENT}`));
    }
  });

  test("daemon-reload succeeds", async ({ systemd }) => {
    assert.ok((await systemd.daemonReload()).ok);
  });
}
