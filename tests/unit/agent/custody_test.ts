import assert from "node:assert/strict";
import { stepHelm } from "../../../adapters/fake/helm_controller.ts";
import { cycle, openCycleParts } from "../../../core/agent/cycle.ts";
import { openFirstConfigs } from "../../../core/agent/first_config.ts";
import { advanceFirstStart } from "../../../core/agent/first_start.ts";
import { openReleases } from "../../../core/agent/releases.ts";
import { noteBoot } from "../../../core/agent/note_boot.ts";
import { operate } from "../../../core/agent/operate.ts";
import { skipPath } from "../../../core/host/manifests.ts";
import type { JsonObject } from "../../../core/json.ts";
import { K3S_HOLD_FILE, STATE_FILE } from "../../../core/state/paths.ts";
import type { State } from "../../../core/state/state.ts";
import { createMachine, type Machine, NODE, openAgent } from "../operations/machine.ts";
import { startToy, step, toy } from "../operations/toy.ts";
import { createSettledWorld, createWorld, START, type World } from "./world.ts";

const OWN = "00000000-0000-4000-8000-000000000002";
const OTHER = "00000001-0000-4000-8000-000000000002";
const HCLOUD = "/api/v1/namespaces/kube-system/secrets/hcloud";
const CCM = "hcloud-cloud-controller-manager";
const CYCLE = 36_000;
const ALWAYS = {
  maintenance: {
    timezone: "UTC",
    windows: [{
      days: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
      start: "00:00",
      minutes: 1440,
    }],
  },
};

/** Another cluster answers at the API, with k3s's kinds and this node in it. */
function showOther({ k8s }: Pick<World, "k8s">): void {
  k8s.showCluster(1);
  k8s.installK3sDefinitions();
  k8s.setNode(NODE, true);
  k8s.forgetRequests();
}

/** A settled agent whose API shows another cluster since a while. */
async function foreignWorld(): Promise<World> {
  const world = await createSettledWorld();
  const addon = { name: "external-dns", enabled: true, options: { domain: "example.com" } };
  const secret_options = { api_token: { plain: "a-token" } };
  world.portal.desire({ addons: [{ ...addon, secret_options }] });
  await world.pass(CYCLE);
  stepHelm(world.k8s);
  stepHelm(world.k8s);
  await world.pass(2 * CYCLE);
  assert.deepEqual(world.lastReport().addons, [{ name: "external-dns", state: "applied" }]);
  showOther(world);
  await world.pass(CYCLE);
  return world;
}

function patchState({ disk }: Machine, change: Partial<State>): void {
  const state = JSON.parse(disk.text(STATE_FILE) ?? "");
  disk.put(STATE_FILE, JSON.stringify({ ...state, ...change }));
}

/** The journal of an operation at a step. */
function journal(kind: string, step: string | null, params: JsonObject = {}) {
  const begun_at = new Date(START).toISOString();
  return { id: "op-1", kind, params, begun_at, step, steps: [], handed: {}, events: [], seq: 0 };
}

const RESTORE = journal("cluster.restore", "wait_api", { snapshot: "x", from: "s3" });

Deno.test("other_cluster: told with both UIDs and the way out, nothing is written, no leading", async () => {
  const world = await foreignWorld();
  await world.pass(CYCLE);
  assert.deepEqual(world.lastReport().addons.map(({ state }) => state), ["pending"]);
  world.portal.desire({
    servers: 3,
    secrets: { hcloud: { token: { plain: "another" } } },
    addons: [{ name: CCM, enabled: true, options: {} }],
  });
  await world.pass(700_000);
  assert.equal(world.disk.text(skipPath(CCM)), null, "k3s keeps its manifest");
  world.portal.desire({ servers: 1 });
  await world.pass(2 * CYCLE);
  const [condition, ...more] = world.lastReport().conditions;
  assert.deepEqual([condition?.code, more], ["other_cluster", []]);
  for (const part of [OWN, OTHER, "cluster.restore", "kube_system_uid", "uninstall"]) {
    assert.ok(condition?.message.includes(part), part);
  }
  assert.equal(world.k8s.writes(), 0);
  assert.equal(world.lastReport().node.leader, false);
  assert.doesNotMatch(world.log.text(), /secrets_not_applied/, "nothing was even tried");
  assert.equal(world.stored().kube_system_uid, OWN);

  world.k8s.showCluster(0);
  await world.pass(CYCLE);
  assert.deepEqual(world.conditions(), []);
  assert.equal(world.stored().other_cluster, null);
  assert.equal(world.lastReport().node.leader, true);
  assert.ok(world.k8s.writes() > 0, "what was asked for meanwhile is applied");
  await world.stop();
});

Deno.test("other_cluster: an API that is down or shows no UID is no verdict, and nothing is written", async () => {
  const world = await foreignWorld();
  world.k8s.breakWith({ kind: "down" });
  await world.pass(CYCLE);
  assert.deepEqual(world.conditions(), ["api_down", "other_cluster"]);
  world.k8s.breakWith(null);
  world.k8s.showCluster(0);
  await world.pass(CYCLE);
  assert.deepEqual(world.conditions(), []);
  await world.stop();

  let hides = false;
  const hidden = createWorld();
  hidden.start((ports) => ({
    ...ports,
    k8s: {
      ...ports.k8s,
      get: (ref) =>
        hides && ref.name === "kube-system"
          ? Promise.resolve({ ok: false, error: { code: "unreachable", message: "timed out" } })
          : ports.k8s.get(ref),
    },
  }));
  await hidden.pass(70_000);
  hides = true;
  hidden.k8s.drop(HCLOUD);
  hidden.k8s.forgetRequests();
  await hidden.pass(CYCLE);
  assert.equal(hidden.k8s.writes(), 0);
  assert.deepEqual(hidden.conditions(), []);
  hides = false;
  await hidden.pass(CYCLE);
  assert.notEqual(hidden.k8s.read(HCLOUD), null);
  await hidden.stop();
});

Deno.test("other_cluster: survives a restart of the agent while the API is down", async () => {
  const world = await foreignWorld();
  await world.stop();
  world.k8s.breakWith({ kind: "down" });
  world.start();
  await world.pass(CYCLE);
  assert.ok(world.conditions().includes("other_cluster"));
  await world.stop();
});

Deno.test("other_cluster: k3s is not restarted, and no drop-in is written", async () => {
  const world = await foreignWorld();
  const before = world.disk.text("/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml");
  world.portal.desire({ ...ALWAYS, host: { snapshots: { retention: 7 } } });
  await world.pass(2 * CYCLE);
  const after = () => world.disk.text("/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml");
  assert.equal(after(), before);
  assert.ok(!world.systemd.calls.includes("restart k3s.service"));
  world.k8s.showCluster(0);
  await world.pass(2 * CYCLE);
  assert.notEqual(after(), before);
  assert.ok(world.systemd.calls.includes("restart k3s.service"));
  await world.stop();
});

Deno.test("other_cluster: a cluster that changes right before the restart is left alone", async () => {
  const world = createWorld();
  let switches = false;
  world.start((ports) => ({
    ...ports,
    machine: {
      ...ports.machine,
      processes: () => {
        // What the pending restart is judged by is read after the cycle looked at the cluster.
        if (switches) world.k8s.showCluster(1);
        return ports.machine.processes();
      },
    },
  }));
  await world.pass(70_000);
  switches = true;
  world.portal.desire({ ...ALWAYS, host: { snapshots: { retention: 7 } } });
  await world.pass(2 * CYCLE);
  assert.ok(!world.systemd.calls.includes("restart k3s.service"));
  await world.stop();
});

Deno.test("other_cluster: operations are refused but for what may help", async () => {
  const world = await foreignWorld();
  for (const kind of ["snapshot.save", "s3.verify", "agent.rotate_key", "server.rejoin"]) {
    const id = kind.replace(".", "-");
    world.portal.offer({ id, kind, params: {} });
    await world.pass(2 * CYCLE);
    const { state, code, message } = world.stored().finished[id].result;
    assert.deepEqual([state, code], ["refused", "other_cluster"], kind);
    assert.ok(message.includes(OWN) && message.includes(OTHER));
  }
  const consent = { by: "a", at: "2026-01-01T00:00:00Z" };
  world.portal.offer({ id: "diag", kind: "diag.collect", params: { consent } });
  await world.pass(2 * CYCLE);
  assert.equal(world.stored().finished["diag"].result.state, "succeeded");
  const params = { snapshot: "none", from: "local" };
  world.portal.offer({ id: "restore", kind: "cluster.restore", params });
  await world.pass(3 * CYCLE);
  assert.equal(world.stored().finished["restore"].result.code, "checks_failed");
  await world.stop();
});

Deno.test("other_cluster: an operation that was taken before is refused before its first step", async () => {
  for (const [step, code] of [[null, "other_cluster"], ["save", "not_saved"]] as const) {
    const machine = createMachine();
    const operation = journal("snapshot.save", step);
    const run = { name: "save", started_at: operation.begun_at, ended_at: null, state: "running" };
    patchState(machine, {
      operation: { ...operation, steps: step === null ? [] : [run] } as State["operation"],
    });
    machine.k8s.showCluster(1);
    const context = await openAgent(machine.ports);
    const done = operate(context, () => {});
    for (let turn = 0; turn < 200; turn++) await machine.clock.advance(10_000);
    await done;
    const result = context.store.state.finished["op-1"]?.result;
    if (step === null) assert.deepEqual([result?.state, result?.code], ["refused", code]);
    else assert.notEqual(result?.code, "other_cluster", "its end is told as it is");
  }
});

Deno.test("custody: while a restore has not proven its cluster, only the restore acts", async () => {
  const world = await createSettledWorld();
  await world.stop();
  for (const uid of [OWN, "of-another-cluster"]) {
    const before = { ...world.stored(), kube_system_uid: uid, operation: RESTORE };
    world.disk.put(STATE_FILE, JSON.stringify(before));
    world.k8s.drop(HCLOUD);
    world.k8s.forgetRequests();
    const context = await openAgent(portsOf(world));
    const parts = openCycleParts(context);
    await cycle(context, parts);
    await parts.leader.renew();
    assert.equal(world.k8s.writes(), 0);
    assert.equal(world.k8s.read(HCLOUD), null);
    assert.deepEqual(world.conditions(), [], "what comes up is for the restore to judge");
    assert.equal(context.store.state.other_cluster, null);
    assert.equal(world.lastReport().node.leader, false);
  }
  // From the proof on the agent acts again, beside the rest of the restore.
  const proven = { name: "wait_api", started_at: RESTORE.begun_at, ended_at: null };
  const steps = [{ ...proven, state: "succeeded" }];
  const operation = { ...RESTORE, steps };
  world.disk.put(
    STATE_FILE,
    JSON.stringify({ ...world.stored(), kube_system_uid: OWN, operation }),
  );
  const context = await openAgent(portsOf(world));
  await cycle(context, openCycleParts(context));
  assert.notEqual(world.k8s.read(HCLOUD), null);
});

/** The ports of a world whose agent does not run. */
function portsOf(world: World) {
  let taken: Parameters<NonNullable<Parameters<World["start"]>[0]>>[0] | null = null;
  world.start((ports) => taken = ports);
  world.kill();
  assert.ok(taken !== null);
  return taken;
}

Deno.test("custody: no lease is renewed in another cluster, under a restore, or while k3s is held", async () => {
  const rows: readonly (readonly [Partial<State>, string | null])[] = [
    [{}, null],
    [{ other_cluster: OTHER }, "other"],
    [{ operation: RESTORE as State["operation"] }, "restore"],
  ];
  for (const [change, what] of rows) {
    const machine = createMachine();
    patchState(machine, change);
    const { leader } = openCycleParts(await openAgent(machine.ports));
    await leader.renew();
    assert.equal(leader.leads(), what === null, what ?? "");
    machine.disk.put(K3S_HOLD_FILE, "held");
    await leader.renew();
    assert.equal(leader.leads(), false, "held");
  }
});

Deno.test("custody: a boot starts k3s only where the agent may", async () => {
  const rows: readonly (readonly [Partial<State>, boolean])[] = [
    [{}, true],
    [{ other_cluster: OTHER }, false],
    [{ operation: RESTORE as State["operation"] }, false],
  ];
  for (const [change, starts] of rows) {
    for (const isHeld of [false, true]) {
      const machine = createMachine();
      patchState(machine, { ...change, boot_id: "the-boot-before" });
      if (isHeld) machine.disk.put(K3S_HOLD_FILE, "held");
      machine.systemd.units.set("k3s.service", { state: "inactive", enabled: false });
      await noteBoot(await openAgent(machine.ports));
      const started = machine.systemd.calls.includes("start k3s.service");
      assert.equal(started, starts && !isHeld, JSON.stringify([change, isHeld]));
    }
  }
});

Deno.test("custody: a first start configures, starts and learns nothing where the agent may not", async () => {
  for (const first_start of ["configure", "start", "wait_api", "write_secrets"] as const) {
    for (const operation of [RESTORE, journal("server.rejoin", null)]) {
      const machine = createMachine();
      const before = machine.disk.text("/etc/rancher/k3s/config.yaml");
      patchState(machine, { first_start, operation: operation as State["operation"] });
      const context = await openAgent(machine.ports);
      const advance = await advanceFirstStart(context, openFirstConfigs(openReleases()));
      assert.match(advance.moved ? "" : advance.why, /is under way/, first_start);
      assert.equal(machine.disk.text("/etc/rancher/k3s/config.yaml"), before);
    }
  }
});

Deno.test("custody: a first start that knows its cluster learns no other one, and gives it nothing", async () => {
  for (const first_start of ["wait_api", "write_secrets"] as const) {
    const machine = createMachine();
    patchState(machine, { first_start });
    showOther(machine);
    const context = await openAgent(machine.ports);
    const advance = await advanceFirstStart(context, openFirstConfigs(openReleases()));
    assert.equal(advance.moved, false, first_start);
    assert.equal(context.store.state.kube_system_uid, OWN);
    assert.equal(context.store.state.first_start, first_start);
    assert.equal(machine.k8s.writes(), 0);
    machine.k8s.showCluster(0);
    await context.store.keep((state) => ({ ...state, other_cluster: null }));
    assert.equal(
      (await advanceFirstStart(context, openFirstConfigs(openReleases()))).moved,
      true,
      first_start,
    );
  }
});

Deno.test("custody: of an agent that lost its state and finds a hold, the hold's cluster counts", async () => {
  const world = await createSettledWorld();
  await world.stop();
  await world.disk.remove(STATE_FILE);
  world.disk.put(
    K3S_HOLD_FILE,
    "cluster.restore op-1 holds k3s\nkube-system of its cluster: own-uid\n",
  );
  world.start();
  await world.pass(CYCLE);
  await world.disk.remove(K3S_HOLD_FILE);
  world.k8s.forgetRequests();
  await world.pass(2 * CYCLE);
  assert.equal(world.stored().kube_system_uid, "own-uid");
  assert.ok(world.conditions().includes("other_cluster"));
  assert.equal(world.k8s.writes(), 0);
  await world.stop();
});

Deno.test("custody: what an operation brought up and proved is not configured and started again", async () => {
  for (const first_start of ["configure", "start", "wait_api", "write_secrets", "done"] as const) {
    const machine = createMachine();
    patchState(machine, { first_start, kube_system_uid: null });
    const proves = step(async ({ rememberCluster }) => {
      const stored = await rememberCluster(OWN);
      assert.equal(stored.ok, true);
      return { kind: "done" };
    });
    const { context, done } = await startToy(machine, toy({ only: proves }));
    await done;
    assert.equal(context.store.state.kube_system_uid, OWN);
    const wanted = first_start === "done" ? "done" : "write_secrets";
    assert.equal(context.store.state.first_start, wanted);
  }
});

Deno.test("custody: a done first start without a UID learns it, as one that has not begun to know", async () => {
  const world = await createSettledWorld();
  await world.stop();
  world.disk.put(STATE_FILE, JSON.stringify({ ...world.stored(), kube_system_uid: null }));
  world.start();
  await world.pass(CYCLE);
  assert.equal(world.stored().kube_system_uid, OWN);
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});
