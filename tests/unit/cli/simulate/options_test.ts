import assert from "node:assert/strict";
import {
  parseSimulateOptions,
  type SimulateEntry,
  type SimulateOptions,
} from "../../../../cli/simulate/options.ts";

const SHIPPED: SimulateEntry = { releaseKeys: [], lab: false };
const LAB: SimulateEntry = {
  releaseKeys: [],
  lab: true,
  startPortal: () => Promise.reject(new Error("not in this test")),
};
const PORTAL = ["--portal", "https://portal.test/agent/v1", "--tokens", "tokens.jsonl"];

function parse(args: readonly string[], entry = LAB, index?: string) {
  const environment = (name: string) => name === "JOB_COMPLETION_INDEX" ? index : undefined;
  return parseSimulateOptions(args, entry, environment);
}

function parsed(args: readonly string[], entry = LAB, index?: string): SimulateOptions {
  const options = parse(args, entry, index);
  assert.ok(options.ok && options.value !== "help", JSON.stringify(options));
  return options.value;
}

Deno.test("parseSimulateOptions: without any flag a small fleet meets a portal of its own", () => {
  const { portals, agents, durationMs, rampMs, cycleMs, shard, report } = parsed([]);
  assert.deepEqual({ portals, agents, durationMs, rampMs, cycleMs, shard, report }, {
    portals: [],
    agents: 100,
    durationMs: 120_000,
    rampMs: 40_000,
    cycleMs: 30_000,
    shard: { index: 0, of: 1 },
    report: null,
  });
});

Deno.test("parseSimulateOptions: a portal by its domain or base URL, with tokens", () => {
  assert.deepEqual(parsed(PORTAL, SHIPPED).portals, ["https://portal.test/agent/v1"]);
  const domain = parsed(["--portal", "example.com", "--tokens", "-"], SHIPPED);
  assert.deepEqual(domain.portals, ["https://agents.example.com/agent/v1"]);
  const two = ["--portal", "a.example", "--portal", "b.example"];
  assert.deepEqual(parsed([...two, "--admin", "http://a", "--admin", "http://b"]).portals, [
    "https://agents.a.example/agent/v1",
    "https://agents.b.example/agent/v1",
  ]);
});

Deno.test("parseSimulateOptions: durations, and the shard by flag or by an indexed Job", () => {
  const options = parsed([...PORTAL, "--duration", "1.5h", "--ramp", "500ms", "--shard", "2/4"]);
  assert.equal(options.durationMs, 5_400_000);
  assert.equal(options.rampMs, 500);
  assert.deepEqual(options.shard, { index: 2, of: 4 });
  assert.deepEqual(parsed([...PORTAL, "--shards", "4"], LAB, "3").shard, { index: 3, of: 4 });
});

const REFUSED:
  readonly (readonly [args: readonly string[], words: RegExp, entry?: SimulateEntry])[] = [
    [["--frobnicate"], /Unknown option '--frobnicate'/],
    [["extra"], /extra/],
    [["--agents", "0"], /--agents 0: is no number/],
    [["--agents", "many"], /--agents many/],
    [["--duration", "90"], /--duration 90: is no duration such as 90s/],
    [["--duration", "0s"], /--duration 0s/],
    [["--duration", "1m", "--ramp", "2m"], /not all agents begin/],
    [["--duration", "1m", "--warmup", "1m"], /leaves nothing/],
    [["--seed", "-1"], /--seed/],
    [["--slo", "sync.p99<fast"], /--slo: 'sync.p99<fast' is no limit/],
    [["--shard", "4/4"], /I from 0 to N-1/],
    [["--shard", "0/200", "--agents", "100"], /more shards than agents/],
    [["--shards", "4"], /JOB_COMPLETION_INDEX is no number from 0 to 3/],
    [["--shard", "0/2", "--shards", "2"], /not both/],
    [["--portal", "http://example.com"], /plain http/],
    [["--portal", "https://portal.test"], /--tokens is missing/],
    [["--tokens", "t"], /--tokens needs --portal/],
    [["--portal", "a.test", "--portal", "b.test", "--admin", "http://a"], /needs its own/],
    [[...PORTAL, "--admin", "http://127.0.0.1:1"], /--tokens or --admin, not both/],
    [["--release-key", "c2hvcnQ="], /32 bytes/],
    [["--report", ""], /--report needs/],
    [[], /--portal is missing/, SHIPPED],
    [[...PORTAL, "--report", "out"], /writes no files/, SHIPPED],
    [[...PORTAL, "--cycle", "1s"], /--cycle is for labs/, SHIPPED],
    [[...PORTAL, "--release-key", btoa("k".repeat(32))], /keys that it was built with/, SHIPPED],
  ];

for (const [args, words, entry] of REFUSED) {
  const who = entry === SHIPPED ? "shipped: " : "";
  Deno.test(`parseSimulateOptions: ${who}refuses '${args.join(" ")}'`, () => {
    const options = parse(args, entry);
    assert.ok(!options.ok, "it was taken");
    assert.match(options.error, words);
  });
}
