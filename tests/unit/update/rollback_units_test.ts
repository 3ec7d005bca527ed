import assert from "node:assert/strict";
import { rollbackUnits, TRIAL_MS } from "../../../core/update/rollback_units.ts";

const text = (end: string) => rollbackUnits(TRIAL_MS).find(({ path }) => path.endsWith(end))?.text;

Deno.test("rollbackUnits: ten minutes on the monotonic clock, again after a boot", () => {
  const timer = text(".timer") ?? "";
  assert.match(timer, /^OnActiveSec=600s$/m);
  assert.match(timer, /^WantedBy=timers\.target$/m);
  assert.doesNotMatch(timer, /OnCalendar|Persistent/);
});

Deno.test("rollbackUnits: the previous program itself does it, until it succeeds", () => {
  const service = text(".service") ?? "";
  assert.match(service, /^ExecStart=\/var\/lib\/pbx-agent\/bin\/pbx-agent\.prev rollback$/m);
  assert.match(service, /^Restart=on-failure$/m);
  assert.doesNotMatch(service, /PartOf|BindsTo|Requires|\/bin\/sh/);
});
