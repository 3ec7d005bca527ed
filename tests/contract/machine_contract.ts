import assert from "node:assert/strict";
import { findK3sProcesses } from "../../core/host/k3s_processes.ts";
import type { Machine } from "../../core/ports/machine.ts";

/** A machine of which the truth is known. */
export interface MachineWorld {
  readonly machine: Machine;
  readonly bootId: string;
  readonly kernel: string;
  readonly hostName: string;
  /** Starts a process that looks like `k3s server`; gives its number. */
  startK3s(): Promise<number>;
  end(): Promise<void>;
}

/** What every {@link Machine} does. */
export function machineContract(name: string, open: () => Promise<MachineWorld>): void {
  Deno.test(`machine (${name}): says what the kernel says`, async () => {
    const world = await open();
    const facts = await world.machine.facts();
    assert.equal(facts.bootId, world.bootId);
    assert.match(facts.bootId ?? "", /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.equal(facts.kernel, world.kernel);
    assert.equal(facts.hostName, world.hostName);
    assert.ok(Number.isInteger(facts.uptimeSeconds) && (facts.uptimeSeconds ?? 0) > 0);
    assert.ok((facts.memoryAvailableBytes ?? 0) > 1024 ** 2);
    await world.end();
  });

  Deno.test(`machine (${name}): shows a k3s that no unit of systemd has started`, async () => {
    const world = await open();
    try {
      const pid = await world.startK3s();
      const found = await findK3sProcesses(world.machine);
      assert.ok(found.ok, found.ok ? "" : found.error.message);
      assert.deepEqual(found.value.filter((one) => one.pid === pid), [{ pid, work: "server" }]);
    } finally {
      await world.end();
    }
  });
}
