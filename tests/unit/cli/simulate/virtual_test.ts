import assert from "node:assert/strict";
import {
  parseVirtualOptions,
  type VirtualRunOptions,
} from "../../../../cli/simulate/virtual_options.ts";
import { virtualEndJson, virtualEndText } from "../../../../cli/simulate/virtual_text.ts";
import type { VirtualEnd } from "../../../../simulate/virtual/run_virtual.ts";

const DEFAULTS: VirtualRunOptions = {
  agents: 10,
  durationMs: 21_600_000,
  duration: "6h",
  profile: "usual",
  seed: 1,
  seeds: 1,
  threads: null,
  trace: null,
  json: false,
};

Deno.test("parseVirtualOptions: defaults, and every option", () => {
  assert.deepEqual(parseVirtualOptions(["--virtual"]), { ok: true, value: DEFAULTS });
  const all = "--virtual --agents 3 --duration 90s --profile rough --seed 0 --seeds 2 --threads 4";
  const value = {
    ...{ agents: 3, durationMs: 90_000, duration: "90s", profile: "rough" },
    ...{ seed: 0, seeds: 2, threads: 4 },
  };
  assert.deepEqual(parseVirtualOptions([...all.split(" "), "--trace", "2"]), {
    ok: true,
    value: { ...value, trace: 2, json: false },
  });
  assert.deepEqual(parseVirtualOptions([...all.split(" "), "--json"]), {
    ok: true,
    value: { ...value, trace: null, json: true },
  });
  assert.deepEqual(parseVirtualOptions(["-h"]), { ok: true, value: "help" });
});

Deno.test("parseVirtualOptions: refuses with the value and what it should be", () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ["--agents 0", /--agents 0: is no number from 1 to/],
    ["--agents 1e3", /--agents 1e3: is no number/],
    ["--duration 0s", /--duration 0s/],
    ["--duration day", /--duration day/],
    ["--seed -1", /seed/],
    ["--seeds 0", /--seeds 0: is no number from 1/],
    ["--threads 0", /--threads 0: is no number from 1 to 256/],
    ["--agents 3 --trace 3", /--trace 3: is no number from 0 to 2/],
    ["--trace 1 --json", /--json and --trace both want standard output/],
    ["--portal x", /--portal/],
  ];
  for (const [args, words] of wrong) {
    const parsed = parseVirtualOptions(args.split(" "));
    assert.ok(!parsed.ok, args);
    assert.match(parsed.error, words);
  }
});

const GOOD: VirtualEnd = {
  seed: 7,
  traceHash: "0a0b0c0d",
  violations: [],
  converged: 10,
  elapsedMs: 3_723_004,
  counts: { syncs: 1_000, requests: 1_010, faults: 3, events: 3_100 },
};
const BROKEN: VirtualEnd = {
  ...GOOD,
  converged: 9,
  violations: [{ rule: "destroys_once", node: 4, at: 61_000, how: "it ran twice" }],
};
const TOOK = { seconds: 2.04, cpuUs: 250_000 };

Deno.test("virtualEndText: a line, each broken rule, and the command that replays it", () => {
  assert.equal(
    virtualEndText(GOOD, DEFAULTS, TOOK),
    "seed 7: 10 of 10 agents converged in 01:02:03.004; 1000 syncs, 1010 requests, 3 faults, " +
      "3100 events; 2.0 s, 250 us of CPU a sync; trace 0a0b0c0d; 0 rules broken\n",
  );
  assert.equal(
    virtualEndText(BROKEN, DEFAULTS, TOOK).split("\n").slice(1).join("\n"),
    "  00:01:01.000  node 4  destroys_once: it ran twice\n" +
      "  replay: deno task simulate --virtual --agents 10 --duration 6h --profile usual --seed 7 " +
      "--trace 4\n",
  );
});

Deno.test("virtualEndJson: one line with all of it", () => {
  const line = virtualEndJson(BROKEN, DEFAULTS, TOOK);
  assert.equal(line.indexOf("\n"), line.length - 1);
  assert.deepEqual(JSON.parse(line), {
    seed: 7,
    agents: 10,
    converged: 9,
    elapsed_ms: 3_723_004,
    trace: "0a0b0c0d",
    violations: BROKEN.violations,
    counts: BROKEN.counts,
    replay: "deno task simulate --virtual --agents 10 --duration 6h --profile usual --seed 7 " +
      "--trace 4",
    seconds: 2.04,
    cpu_us: 250_000,
  });
});
