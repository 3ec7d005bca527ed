import assert from "node:assert/strict";
import {
  carryOut,
  describeStep,
  isStepOwed,
  UNINSTALL_PLAN,
} from "../../../core/agent/uninstall.ts";
import type { Ports } from "../../../core/ports/mod.ts";
import { AGENT_UNIT_FILE, K3S_CONFIG_FILE } from "../../../core/state/paths.ts";
import { createSettledWorld, type World } from "./world.ts";

function portsOf({ disk, systemd }: World): Ports {
  return { disk, systemd } as unknown as Ports;
}

async function uninstalled(world: World): Promise<string[]> {
  const ends: string[] = [];
  for (const step of UNINSTALL_PLAN) ends.push((await carryOut(portsOf(world), step)).kind);
  return ends;
}

async function installedWorld(): Promise<World> {
  const world = await createSettledWorld();
  await world.stop();
  world.disk.put(AGENT_UNIT_FILE, "[Unit]\n", 0o644);
  world.systemd.units.set("pbx-agent.service", { state: "active", enabled: true });
  return world;
}

Deno.test("uninstall: takes away the agent and nothing of k3s", async () => {
  const world = await installedWorld();
  const kept = world.disk.paths().filter((path) => /rancher|os-release/.test(path));
  const secrets = world.k8s.writes();
  await uninstalled(world);
  assert.deepEqual(world.disk.paths().filter((path) => path.includes("pbx-agent")), []);
  for (const path of kept) assert.notEqual(world.disk.text(path), null, path);
  assert.ok(kept.includes(K3S_CONFIG_FILE));
  assert.deepEqual(world.systemd.units.get("pbx-agent.service"), {
    state: "inactive",
    enabled: false,
  });
  assert.equal(world.systemd.units.get("k3s.service")?.state, "active");
  assert.equal(world.k8s.writes(), secrets);
});

Deno.test("uninstall: a second time, and on half of an installation, it finds less to do and no error", async () => {
  const world = await installedWorld();
  for (const step of UNINSTALL_PLAN) assert.notEqual(describeStep(step), "");
  const first = await uninstalled(world);
  assert.ok(first.includes("done") && !first.includes("failed"));
  const second = await uninstalled(world);
  assert.deepEqual(new Set(second), new Set(["nothing", "done"]));
  assert.equal(second.filter((end) => end === "done").length, 1, "systemd is told to read again");
  for (const step of UNINSTALL_PLAN) {
    assert.equal(await isStepOwed(portsOf(world), step), step.kind === "daemon_reload");
  }
});

Deno.test("uninstall: what fails is told and stays owed", async () => {
  const world = await installedWorld();
  world.disk.setReadOnly(true);
  const ends = await uninstalled(world);
  assert.equal(ends.filter((end) => end === "failed").length, 3);
  world.disk.setReadOnly(false);
  assert.ok(!(await uninstalled(world)).includes("failed"));

  const other = await installedWorld();
  for (const code of ["failed", "timeout", "missing"] as const) {
    other.systemd.failNext(code);
    const [step] = UNINSTALL_PLAN.filter(({ kind }) => kind === "daemon_reload");
    assert.ok(step !== undefined);
    const end = await carryOut(portsOf(other), step);
    assert.equal(end.kind, code === "missing" ? "done" : "failed");
  }
  other.systemd.failNext("failed");
  const stop = UNINSTALL_PLAN.find((step) =>
    step.kind === "stop_and_disable" && step.unit === "pbx-agent.service"
  );
  assert.ok(stop !== undefined);
  assert.equal((await carryOut(portsOf(other), stop)).kind, "failed");
});
