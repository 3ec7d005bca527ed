import assert from "node:assert/strict";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import { readOnlyDisk } from "../../../core/state/read_only_disk.ts";

Deno.test("readOnlyDisk: reads go through, every write is refused and does nothing", async () => {
  const real = createFakeDisk();
  real.put("/d/a", "text");
  const disk = readOnlyDisk(real);
  const bytes = new Uint8Array(1);
  const writes = [
    disk.write("/d/a", bytes, 0o600),
    disk.append("/d/a", bytes, 0o600),
    disk.rename("/d/a", "/d/b"),
    disk.syncDirectory("/d"),
    disk.makeDirectory("/d/c", 0o700),
    disk.remove("/d/a"),
  ];
  for (const result of await Promise.all(writes)) {
    assert.equal(result.ok ? "done" : result.error.code, "read_only");
  }
  assert.deepEqual(real.writes(), []);
  const read = await disk.read("/d/a");
  assert.equal(new TextDecoder().decode(read.ok ? read.value ?? bytes : bytes), "text");
  assert.deepEqual(await disk.list("/d"), { ok: true, value: ["a"] });
});
