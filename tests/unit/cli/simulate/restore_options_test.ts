import assert from "node:assert/strict";
import { parseRestoreOptions } from "../../../../cli/simulate/restore_options.ts";
import { restoreEndText, storyText } from "../../../../cli/simulate/restore_text.ts";
import type { RestoreEnd } from "../../../../simulate/servers/restore_run.ts";

Deno.test("parseRestoreOptions: defaults, and every option", () => {
  assert.deepEqual(parseRestoreOptions([]), {
    ok: true,
    value: { servers: 3, seed: 1, trouble: false, json: false },
  });
  assert.deepEqual(
    parseRestoreOptions(["--servers", "5", "--seed", "7", "--trouble", "--json"]),
    { ok: true, value: { servers: 5, seed: 7, trouble: true, json: true } },
  );
  assert.deepEqual(parseRestoreOptions(["-h"]), { ok: true, value: "help" });
});

Deno.test("parseRestoreOptions: refuses with the value and what it should be", () => {
  const wrong: readonly (readonly [string[], RegExp])[] = [
    [["--servers", "4"], /--servers 4: is neither 3 nor 5/],
    [["--seed", "-1"], /seed/],
    [["--seed", "x"], /--seed x: is no whole number/],
    [["now"], /now/],
    [["--agents", "3"], /--agents/],
  ];
  for (const [args, words] of wrong) {
    const parsed = parseRestoreOptions(args);
    assert.ok(!parsed.ok, args.join(" "));
    assert.match(parsed.error, words);
  }
});

Deno.test("restoreEndText: every server, every check, and the way to see it again", () => {
  const end: RestoreEnd = {
    seed: 7,
    ok: false,
    elapsedMs: 3_661_000,
    lost: ["demo-2"],
    story: [],
    servers: [
      { name: "demo-1", member: "demo-1-1", orders: "first", invoices: null, leads: true },
      { name: "demo-2", member: null, orders: null, invoices: null, leads: false },
    ],
    operations: [],
    checks: [
      { name: "this", holds: true, found: "so" },
      { name: "that", holds: false, found: "not so" },
    ],
  };
  const options = { servers: 3, seed: 7, trouble: true, json: false } as const;
  assert.equal(
    restoreEndText(end, options),
    `
server  member    orders  invoices  leads
demo-1  demo-1-1  first   none      yes
demo-2  none      none    none      no

ok      this (so)
BROKEN  that (not so)

not everything is as it should be; replay: deno task simulate restore --servers 3 --seed 7 --trouble
`,
  );
  assert.match(restoreEndText({ ...end, ok: true }, options), /as it should be, after 01:01:01/);
  assert.equal(storyText({ at: 61_000, who: "demo-1", what: "x" }), "00:01:01  demo-1    x\n");
});
