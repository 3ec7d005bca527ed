// needs: root systemd-nspawn mmdebstrap ip
import { checkRows } from "./delivery/check_rows.ts";
import { clockRows } from "./delivery/clock_rows.ts";
import { diskRows } from "./delivery/disk_rows.ts";
import { cutRows } from "./delivery/cut_rows.ts";
import { sequenceRows } from "./delivery/sequence_rows.ts";
import { trialRows } from "./delivery/trial_rows.ts";
import { playInLanes, type Row } from "./delivery/lanes.ts";
import { compilePrograms } from "./delivery/programs.ts";
import { PACKAGES } from "./delivery/machine.ts";
import { makeBaseRoot } from "../lab/base_root.ts";

const LANES = Number(Deno.env.get("PBX_LANES") ?? 6);
const only = new RegExp(Deno.env.get("PBX_ROWS") ?? "");

const programs = await compilePrograms();
await makeBaseRoot(undefined, PACKAGES);
const rows: readonly Row[] = [
  ...checkRows(programs),
  ...trialRows(programs),
  ...cutRows(programs, "power cut"),
  ...cutRows(programs, "reboot"),
  ...sequenceRows(programs),
  ...diskRows(programs),
  ...clockRows(programs),
].filter(({ name }) => only.test(name));

const endOf = playInLanes(rows, LANES);
for (const row of rows) {
  Deno.test({
    name: `update: ${row.name}`,
    fn: () => endOf(row),
    sanitizeOps: false,
    sanitizeResources: false,
  });
}
