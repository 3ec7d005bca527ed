import assert from "node:assert/strict";
import { createFakeDisk } from "../../../../adapters/fake/disk.ts";
import type { Ports } from "../../../../core/ports/mod.ts";
import { type Fuse, startProcess } from "../../../../simulate/node/process.ts";

const BYTES = new TextEncoder().encode("0123456789");

/** A process on a disk, and how it died. */
function start() {
  const disk = createFakeDisk();
  disk.put("/d/old", "old");
  const died: string[] = [];
  const ports = { disk, clock: {}, random: {}, log: { write() {} } } as unknown as Ports;
  const process = startProcess(ports, disk, (fuse, at) => died.push(`${fuse.moment} ${at}`));
  return { disk, died, process };
}

/** Whether a call has not returned once everything has run that could. */
async function hangs(call: Promise<unknown>): Promise<boolean> {
  const none = Symbol();
  return await Promise.race([call, new Promise((resolve) => setTimeout(resolve, 1, none))]) ===
    none;
}

async function dieAt(fuse: Fuse) {
  const { disk, died, process } = start();
  process.setFuse(fuse);
  assert.equal(await hangs(process.ports.disk.write("/d/one", BYTES, 0o600)), fuse.calls === 1);
  const second = process.ports.disk.write("/d/two", BYTES, 0o600);
  assert.ok(await hangs(second));
  assert.equal(process.isAlive(), false);
  disk.restart();
  return { died, paths: disk.paths(), two: disk.text("/d/two") };
}

Deno.test("process: dies before, in the middle of or after the call that its fuse says", async () => {
  assert.deepEqual(await dieAt({ calls: 2, moment: "before", power: null }), {
    died: ["before disk.write"],
    paths: ["/d/old", "/d/one"],
    two: null,
  });
  assert.deepEqual(await dieAt({ calls: 2, moment: "during", power: null }), {
    died: ["during disk.write /d/two"],
    paths: ["/d/old", "/d/one", "/d/two"],
    two: "01234",
  });
  assert.deepEqual(await dieAt({ calls: 2, moment: "after", power: null }), {
    died: ["after disk.write /d/two"],
    paths: ["/d/old", "/d/one", "/d/two"],
    two: "0123456789",
  });
});

Deno.test("process: a dead one does nothing any more", async () => {
  const { disk, process, died } = start();
  process.kill();
  assert.ok(await hangs(process.ports.disk.remove("/d/old")));
  assert.equal(disk.text("/d/old"), "old");
  assert.deepEqual(died, []);
});
