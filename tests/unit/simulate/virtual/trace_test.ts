import assert from "node:assert/strict";
import { Profile } from "../../../../simulate/profile/profile.ts";
import { runVirtual } from "../../../../simulate/virtual/run_virtual.ts";
import { createTraceHash, describeTime } from "../../../../simulate/virtual/trace.ts";

Deno.test("trace: one agent's life, in order, with what and why", async () => {
  const lines: string[] = [];
  const end = await runVirtual({
    agents: 2,
    durationMs: 3_600_000,
    seed: 1,
    profile: Profile.parse({ faults: { reboots: 4, until: 0.5 } }),
    trace: { node: 1, print: (line) => lines.push(line) },
  });
  assert.equal(end.converged, 2);
  const text = lines.join("\n");
  const order = [
    /agent {5}starts, version 0\.1\.0/,
    /agent {5}enrolled: enrolled as agent-[0-9a-f]+: node node-1 of cluster cluster-1/,
    /machine {3}k3s_started/,
    /agent {5}first_start_done: the cluster runs and has its Secrets/,
    /fault {5}an administrator reboots it/,
    /machine {3}has booted/,
    /owner {5}desired revision 2: the agent 0\.9\.0/,
    /agent {5}update_installed: pbx-agent 0\.9\.0 takes over/,
    /request {3}POST \/sync: 200 after [0-9]+ ms/,
  ].map((pattern) => text.search(pattern));
  assert.ok(order.every((at) => at >= 0), `${order}`);
  assert.deepEqual(order.slice(0, -1), order.slice(0, -1).toSorted((a, b) => a - b));
  assert.ok(lines.every((line) => /^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3} {2}\S/.test(line)));
});

Deno.test("trace: one agent's life is the same in a fleet of any size", async () => {
  async function lifeIn(agents: number): Promise<readonly string[]> {
    const lines: string[] = [];
    await runVirtual({
      agents,
      durationMs: 3_600_000,
      seed: 5,
      profile: Profile.parse({
        faults: { kills: 3, until: 0.6 },
        work: { changes: 6, updates: 8, bad_updates: 0.5, operations: { "snapshot.save": 4 } },
      }),
      trace: { node: 1, print: (line) => lines.push(line) },
    });
    return lines;
  }
  const ofTwo = await lifeIn(2);
  assert.ok(ofTwo.some((line) => line.includes("update_installed")));
  assert.deepEqual(await lifeIn(5), ofTwo);
});

Deno.test("simulate --virtual: on any number of threads the same happens, and is told", async () => {
  async function runOn(threads: number) {
    const lines: string[] = [];
    const end = await runVirtual({
      agents: 4,
      durationMs: 3_600_000,
      seed: 3,
      profile: Profile.parse({
        faults: { kills: 3, until: 0.6 },
        work: { changes: 6, operations: { "snapshot.save": 4 } },
      }),
      threads,
      trace: { node: 2, print: (line) => lines.push(line) },
    });
    return { end, lines };
  }
  const one = await runOn(1);
  assert.equal(one.end.converged, 4);
  assert.ok(one.lines.length > 100);
  assert.deepEqual(await runOn(3), one);
});

Deno.test("simulate --virtual: what goes wrong in a thread goes wrong in the run", async () => {
  const run = runVirtual({
    agents: 2,
    durationMs: 60_000,
    seed: 1,
    profile: { ...Profile.parse({}), network: null } as unknown as Profile,
    threads: 2,
  });
  await assert.rejects(run, /null/);
});

Deno.test("simulate --virtual: where a portal takes so many requests a second, nodes stand in each other's way", async () => {
  async function refusalsIn(agents: number): Promise<number> {
    let refusals = 0;
    await runVirtual({
      agents,
      durationMs: 300_000,
      seed: 2,
      profile: Profile.parse({ portal: { capacity: 1 }, faults: { until: 0.4 } }),
      trace: { node: 0, print: (line) => refusals += line.includes(": 429 after") ? 1 : 0 },
    });
    return refusals;
  }
  assert.ok(await refusalsIn(40) > await refusalsIn(1));
});

Deno.test("describeTime: days, hours, minutes, seconds and milliseconds", () => {
  assert.equal(describeTime(0), "00:00:00.000");
  assert.equal(describeTime(3_723_004.9), "01:02:03.004");
  assert.equal(describeTime(90_061_001), "1d 01:01:01.001");
});

Deno.test("createTraceHash: depends on every letter and on their order", () => {
  const of = (...texts: string[]) => {
    const hash = createTraceHash();
    for (const text of texts) hash.add(text);
    return hash.value();
  };
  assert.equal(of("a", "b"), of("ab"));
  assert.notEqual(of("ab"), of("ba"));
  assert.notEqual(of("ab"), of("abc"));
});
