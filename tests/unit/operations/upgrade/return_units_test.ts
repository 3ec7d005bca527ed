import assert from "node:assert/strict";
import { GATE_MS, returnUnits } from "../../../../core/operations/upgrade/return_units.ts";

Deno.test("returnUnits: a new image has 20 minutes, and the timer comes a minute after the agent's own end", () => {
  assert.equal(GATE_MS, 20 * 60_000);
  const timer = returnUnits(GATE_MS).find(({ path }) => path.endsWith(".timer"));
  assert.match(timer?.text ?? "", /^OnBootSec=1260s$/m);
  assert.match(timer?.text ?? "", /^DefaultDependencies=no$/m);
});

Deno.test("returnUnits: the restart happens once, by force, and only while its mark is there", () => {
  const service = returnUnits(GATE_MS).find(({ path }) => path.endsWith(".service"))?.text ?? "";
  const mark = /^ConditionPathExists=(.+)$/m.exec(service)?.[1] ?? "none";
  assert.ok(service.includes(`ExecStart=-/usr/bin/rm -f ${mark}`), service);
  assert.match(service, /^SuccessAction=reboot-force$/m);
  assert.match(service, /^FailureAction=reboot-force$/m);
});
