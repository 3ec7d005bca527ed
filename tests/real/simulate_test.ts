// needs: etcd kube-apiserver
// A fleet in four processes beside the same fleet in one, and the Job that runs it from four pods.
import assert from "node:assert/strict";
import { join } from "node:path";
import { parse } from "yaml";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeK8s } from "../../adapters/node/k8s.ts";
import { simulateJob } from "../../cli/build/templates/simulate_job.ts";
import { VERSION } from "../../cli/version.ts";
import type { JsonObject } from "../../core/json.ts";
import { addHistograms, type Histogram } from "../../simulate/report/histogram.ts";
import { Report } from "../../simulate/report/report.ts";
import { startFleetPortal } from "../e2e/fleet_portal.ts";
import { runSimulator } from "../e2e/simulator.ts";
import { startKubeApi } from "../lab/kube_api.ts";

const SHARDS = 4;
const FLEET = ["--agents", "40", "--duration", "20s", "--ramp", "2s", "--cycle", "1s"];

Deno.test("simulate: four processes, merged, are what one process is", async () => {
  const portal = await startFleetPortal();
  const folder = await Deno.makeTempDir({ prefix: "pbx-simulate-" });
  try {
    const readReport = async (name: string) =>
      Report.parse(JSON.parse(await Deno.readTextFile(join(folder, name, "report.json"))));
    const run = async (name: string, ...more: string[]) => {
      const flags = [...portal.flags, ...FLEET, "--report", join(folder, name), ...more];
      const { code, stderr } = await runSimulator(flags);
      assert.equal(code, 0, stderr);
      return await readReport(name);
    };
    const shards = await Promise.all(
      Array.from(
        { length: SHARDS },
        (_, index) => run(`${index}`, "--shard", `${index}/${SHARDS}`),
      ),
    );
    const files = shards.map((_, index) => join(folder, `${index}`, "report.json"));
    const slo = ["--slo", "enrolled>=100%,errors<1,faults<1"];
    const merge = ["merge", ...files, "--report", join(folder, "merged"), ...slo];
    const { code, stderr } = await runSimulator(merge);
    assert.equal(code, 0, stderr);
    const merged = await readReport("merged");
    const whole = await run("whole");

    for (const report of [merged, whole]) {
      const { agents, endpoints, errors, faults } = report;
      assert.deepEqual([agents.included, agents.started, agents.enrolled], [40, 40, 40]);
      assert.deepEqual([endpoints.enroll?.requests, endpoints.manifest?.requests], [40, 40]);
      assert.deepEqual([errors, faults], [{}, []]);
    }
    // How many syncs there were is the clock's affair; that none is lost or counted twice is not.
    const syncs = (report: Report) => report.endpoints.sync?.requests ?? 0;
    assert.equal(syncs(merged), shards.map(syncs).reduce((one, other) => one + other));
    const sums = shards.map(({ endpoints }): Histogram =>
      endpoints.sync?.response ?? assert.fail()
    );
    assert.deepEqual(merged.endpoints.sync?.response, sums.reduce(addHistograms));

    const missing = await runSimulator(["merge", ...files.slice(1)]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /of 4 shards these are missing: 0/);
  } finally {
    await Deno.remove(folder, { recursive: true });
    await portal.close();
  }
});

Deno.test("simulate: a real API server takes the Job as it is, once its image is named", async () => {
  const api = await startKubeApi();
  try {
    const text = simulateJob(VERSION).replaceAll("@IMAGE@", "registry.example.com/pbx-simulate:1")
      .replaceAll("@PORTAL@", "https://agents.example.com/agent/v1");
    assert.ok(
      !/@[A-Z]+@/.test(text.replaceAll(/^#.*$/gm, "")),
      "something else is to be filled in",
    );
    const disk = createFakeDisk();
    disk.put("/etc/rancher/k3s/k3s.yaml", await Deno.readTextFile(api.kubeconfig));
    const k8s = createNodeK8s({ disk, clock: createNodeClock(), version: VERSION });
    const ref = {
      apiVersion: "batch/v1",
      resource: "jobs",
      namespace: "default",
      name: "pbx-simulate",
    };
    const job = parse(text) as JsonObject;
    const made = await k8s.apply(ref, job);
    assert.ok(made.ok, JSON.stringify(made));
    const found = await k8s.get(ref);
    assert.ok(found.ok && found.value !== null);
    const { spec } = found.value as unknown as { spec: Record<string, unknown> };
    assert.deepEqual(
      [spec["completions"], spec["parallelism"], spec["completionMode"]],
      [SHARDS, SHARDS, "Indexed"],
    );
  } finally {
    await api.stop();
  }
});
