import assert from "node:assert/strict";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import { createFakeLog } from "../../../adapters/fake/log.ts";
import type { Disk } from "../../../core/ports/disk.ts";
import { ok } from "../../../core/result.ts";
import { repairModes, wrongModes } from "../../../core/state/modes.ts";
import {
  CONFIG_FILE,
  IDENTITY_FILE,
  K3S_HOLD_FILE,
  OPERATIONS_DIRECTORY,
  STATE_DIRECTORY,
  STATE_FILE,
} from "../../../core/state/paths.ts";

function modeOf(disk: Disk) {
  return async (path: string) => {
    const found = await disk.inspect(path);
    return found.ok ? found.value?.mode : undefined;
  };
}

Deno.test("repairModes: what others could read or write is root's again, and is told", async () => {
  const disk = createFakeDisk();
  const log = createFakeLog();
  const wide = [IDENTITY_FILE, STATE_FILE, CONFIG_FILE, `${OPERATIONS_DIRECTORY}/op.log`];
  for (const path of wide) disk.put(path, "{}", 0o644);
  disk.put(K3S_HOLD_FILE, "why", 0o666);
  assert.deepEqual(await repairModes(disk, log), ok(undefined));
  const mode = modeOf(disk);
  for (const path of wide) assert.equal(await mode(path), 0o600, path);
  assert.equal(await mode(K3S_HOLD_FILE), 0o644);
  assert.equal(await mode(STATE_DIRECTORY), 0o700);
  assert.equal(await mode(OPERATIONS_DIRECTORY), 0o700);
  const told = log.of("mode_repaired").map(({ message }) => message);
  assert.ok(told.some((line) => /identity\.json has mode 0644; it must have 0600/.test(line)));
  assert.equal(told.length, wide.length + 3);

  disk.forgetWrites();
  assert.deepEqual(await wrongModes(disk), []);
  await repairModes(disk, log);
  assert.deepEqual(disk.writes(), []);
});

Deno.test("repairModes: a narrower mode stays as it is", async () => {
  const disk = createFakeDisk();
  disk.put(IDENTITY_FILE, "{}", 0o400);
  await disk.restrict(STATE_DIRECTORY, 0o700);
  assert.deepEqual(await wrongModes(disk), []);
});

Deno.test("repairModes: a link or a folder in the place of a document stops the start", async () => {
  for (const kind of ["link", "directory", "other"] as const) {
    const disk = createFakeDisk();
    disk.put(IDENTITY_FILE, "{}", 0o600);
    const other: Disk = {
      ...disk,
      inspect: async (path) =>
        path === IDENTITY_FILE ? ok({ kind, mode: 0o777, isOwn: true }) : await disk.inspect(path),
    };
    const repaired = await repairModes(other, createFakeLog());
    assert.ok(!repaired.ok && repaired.error.startsWith(`${IDENTITY_FILE} is `), kind);
  }
});

Deno.test("repairModes: a file of another user is taken from it", async () => {
  const disk = createFakeDisk();
  disk.put(IDENTITY_FILE, "{}", 0o600);
  const restricted: string[] = [];
  const other: Disk = {
    ...disk,
    inspect: async (path) =>
      path === IDENTITY_FILE
        ? ok({ kind: "file", mode: 0o600, isOwn: false })
        : await disk.inspect(path),
    restrict: (path, mode) => {
      restricted.push(path);
      return disk.restrict(path, mode);
    },
  };
  await repairModes(other, createFakeLog());
  assert.ok(restricted.includes(IDENTITY_FILE));
});
