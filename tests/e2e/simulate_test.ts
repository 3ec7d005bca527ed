import assert from "node:assert/strict";
import { join } from "node:path";
import { keyOf, portalKeysOf } from "../../adapters/portal/answer_key.ts";
import { Secret } from "../../core/secret.ts";
import { Report } from "../../simulate/report/report.ts";
import { startFleetPortal } from "./fleet_portal.ts";
import { runSimulator, startSimulator } from "./simulator.ts";
import { waitFor } from "./wait.ts";

Deno.test("simulate: a fleet enrolls and syncs, and a limit that does not hold is exit code 3", async () => {
  const portal = await startFleetPortal();
  const folder = await Deno.makeTempDir({ prefix: "pbx-simulate-" });
  try {
    const { code, stderr } = await runSimulator([
      ...portal.flags,
      ...["--agents", "20", "--duration", "5s", "--ramp", "1s", "--cycle", "1s"],
      ...["--slo", "enrolled>=100%,errors<1,faults<1,sync.p50<1us", "--report", folder],
    ]);
    assert.equal(code, 3, stderr);
    const report = Report.parse(JSON.parse(await Deno.readTextFile(join(folder, "report.json"))));
    assert.deepEqual(report.slo.map(({ held }) => held), [true, true, true, false]);
    assert.deepEqual(report.agents.enrolled, 20);
    assert.equal(report.endpoints.enroll?.succeeded, 20);
    assert.ok((report.endpoints.sync?.succeeded ?? 0) > 20);
    assert.equal(report.run.ended_by, "duration");
    assert.equal(portal.agents(), 20, "the portal has seen them, too");
    assert.match(stderr, /NOT HELD +sync\.p50<1us/);
  } finally {
    await Deno.remove(folder, { recursive: true });
    await portal.close();
  }
});

Deno.test("simulate: a fleet with --portal-key takes proven answers, and no others", async () => {
  const portal = await startFleetPortal();
  const run = async (flags: readonly string[], agents: number) => {
    const { code, stdout, stderr } = await runSimulator([
      ...flags,
      ...["--agents", String(agents), "--duration", "4s", "--ramp", "0s", "--cycle", "1s"],
      ...["--slo", "enrolled>=100%,errors<1", "--report", "-"],
    ]);
    return { code, stderr, report: Report.parse(JSON.parse(stdout)) };
  };
  try {
    const proven = await run(portal.provenFlags, 3);
    assert.equal(proven.code, 0, proven.stderr);
    assert.ok((proven.report.endpoints.sync?.succeeded ?? 0) > 3);
    const [strange] = portalKeysOf(keyOf(new Secret(new Uint8Array(32).fill(5))));
    const unproven = await run([...portal.flags, "--portal-key", strange ?? ""], 2);
    assert.equal(unproven.code, 3, unproven.stderr);
    assert.equal(unproven.report.agents.enrolled, 0);
    assert.deepEqual(Object.keys(unproven.report.errors), [
      "answer_unproven",
    ]);
  } finally {
    await portal.close();
  }
});

Deno.test("simulate: Ctrl-C ends it at once, with its report", async () => {
  const portal = await startFleetPortal();
  try {
    const simulator = startSimulator([
      ...portal.flags,
      ...["--agents", "2", "--duration", "10m", "--ramp", "0s", "--report", "-"],
    ]);
    await simulator.said(/00:05 /);
    simulator.kill("SIGINT");
    const { code, stdout, stderr } = await simulator.end();
    assert.equal(code, 0, stderr);
    const report = Report.parse(JSON.parse(stdout));
    assert.equal(report.run.ended_by, "signal");
    assert.equal(report.agents.enrolled, 2);
  } finally {
    await portal.close();
  }
});

Deno.test("simulate: its own portal does not outlive it, even where it is killed", async () => {
  const simulator = startSimulator(["--agents", "2", "--duration", "10m", "--ramp", "0s"]);
  await simulator.said(/00:05 /);
  const [portal = "", ...others] = await childrenOf(simulator.pid);
  assert.ok(await runs(portal));
  assert.deepEqual(others, []);
  simulator.kill("SIGKILL");
  await waitFor("the end of its portal", async () => !await runs(portal));
  await simulator.end();
});

/** Whether a process does anything: one that has ended stays in the list until somebody asks how. */
async function runs(pid: string): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => null);
  return stat !== null && !/\) Z /.test(stat);
}

async function childrenOf(pid: number): Promise<readonly string[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`);
  return text.trim().split(" ").filter((child) => child !== "");
}

Deno.test("simulate: the shipped program simulates too, by its own release keys, and writes no file", async () => {
  const portal = await startFleetPortal();
  try {
    const args = [...portal.flags, "--agents", "2", "--duration", "2s", "--ramp", "0s"];
    const { code, stdout, stderr } = await runSimulator([...args, "--report", "-"], "cli/main.ts");
    assert.equal(code, 0, stderr);
    const report = Report.parse(JSON.parse(stdout));
    assert.equal(report.agents.enrolled, 2);
    const refused = await runSimulator([...args, "--report", "/tmp"], "cli/main.ts");
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /writes no files/);
  } finally {
    await portal.close();
  }
});
