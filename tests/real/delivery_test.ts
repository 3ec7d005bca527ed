// needs: root systemd-nspawn mmdebstrap ip
// waits
/**
 * Own updates on a real systemd, with the compiled program: a row for everything that can come between a
 * version that is wanted and one that runs. Each row has a machine of its own; some are played side by
 * side. The real ten minutes begin with the suite and are judged at its end, so it takes eleven minutes,
 * most of which it waits. PBX_LONG=1 adds orderly reboots and kills at the points of the power cuts
 * and outages of real lengths (18 minutes).
 *
 * For whoever works on it: PBX_ROWS=PATTERN plays only rows of such names, PBX_LANES=N so many at a time.
 */
import { makeBaseRoot } from "../lab/base_root.ts";
import { checkRows } from "./delivery/check_rows.ts";
import { clockRows } from "./delivery/clock_rows.ts";
import { cutRows } from "./delivery/cut_rows.ts";
import { diskRows } from "./delivery/disk_rows.ts";
import { playInLanes, type Row } from "./delivery/lanes.ts";
import { PACKAGES } from "./delivery/machine.ts";
import { outages, tenMinutes } from "./delivery/minute_rows.ts";
import { compilePrograms } from "./delivery/programs.ts";
import { sequenceRows } from "./delivery/sequence_rows.ts";
import { trialRows } from "./delivery/trial_rows.ts";

const LANES = Number(Deno.env.get("PBX_LANES") ?? 4);
const isLong = Deno.env.get("PBX_LONG") === "1";
const pattern = new RegExp(Deno.env.get("PBX_ROWS") ?? "");

const programs = await compilePrograms();
await makeBaseRoot(undefined, PACKAGES);
const matrix = wanted([
  ...checkRows(programs),
  ...trialRows(programs),
  ...sequenceRows(programs),
  ...cutRows(programs, "power cut"),
  ...isLong ? [...cutRows(programs, "reboot"), ...cutRows(programs, "kill")] : [],
  ...diskRows(programs),
  ...clockRows(programs),
]);
const minutes = wanted([tenMinutes(programs), ...isLong ? outages(programs) : []]);

testAll(minutes, matrix);

function wanted(rows: readonly Row[]): readonly Row[] {
  return rows.filter(({ name }) => pattern.test(name));
}

/** What takes minutes has lanes of its own from the beginning on, and is waited for last. */
function testAll(minutes: readonly Row[], matrix: readonly Row[]): void {
  const endOfMinutes = playInLanes(minutes, minutes.length);
  const endOfMatrix = playInLanes(matrix, LANES);
  for (const row of matrix) test(row, endOfMatrix);
  for (const row of minutes) test(row, endOfMinutes);
}

function test(row: Row, endOf: (row: Row) => Promise<void>): void {
  Deno.test({
    name: `update: ${row.name}`,
    fn: () => endOf(row),
    sanitizeOps: false,
    sanitizeResources: false,
  });
}
