import assert from "node:assert/strict";
import { readStatus } from "../../../core/agent/status.ts";
import { holdWords } from "../../../core/operations/restore/hold.ts";
import {
  CONFIG_FILE,
  IDENTITY_FILE,
  K3S_HOLD_FILE,
  STATE_FILE,
} from "../../../core/state/paths.ts";
import { createMachine } from "../operations/machine.ts";
import { startToy, step, toy } from "../operations/toy.ts";
import { partOf } from "../part_of.ts";
import { plainSecrets } from "./started.ts";
import { createSettledWorld, createWorld } from "./world.ts";

Deno.test("status: a server that was never started", async () => {
  const status = await createWorld().status();
  const expected = {
    stage: "unenrolled",
    problems: [],
    portal: "https://agents.example.com/agent/v1",
    cluster_id: "demo",
    node_name: "demo-1",
    agent_id: null,
    enrollment_token: "present",
    desired: null,
    trouble: null,
  };
  assert.deepEqual(partOf(status, expected), expected);
});

Deno.test("status: a node that is kept", async () => {
  const world = await createSettledWorld();
  const status = await world.status();
  const expected = {
    stage: "syncing",
    problems: [],
    agent_id: [...world.portal.portal.state.agents.keys()][0] ?? "",
    server_id: "4711001",
    enrollment_token: "absent",
    keys_created_at: "2026-01-01T12:00:00.000Z",
    first_start: "done",
    desired: { revision: 1, release: "1.0.0", agent_version: "0.1.0" },
    pending: { k3s_restart: false },
    conditions: [],
    operation: null,
    clock_offset_ms: 0,
  };
  assert.deepEqual(partOf(status, expected), expected);
  await world.stop();
});

Deno.test("status: holds no secret and writes nothing, beside an agent in the middle of a write too", async () => {
  const world = await createSettledWorld();
  await world.stop();
  const whole = world.disk.text(STATE_FILE) ?? "";
  const before = world.disk.paths();
  for (const copy of ["", "{", whole, '{"format": 2}']) {
    for (const main of [whole, "", null]) {
      if (main === null) await world.disk.remove(STATE_FILE);
      else world.disk.put(STATE_FILE, main);
      world.disk.put(`${STATE_FILE}.tmp`, copy);
      world.disk.put(`${IDENTITY_FILE}.tmp`, copy);
      world.disk.forgetWrites();
      const status = await world.status();
      assert.deepEqual(world.disk.writes(), []);
      assert.equal(world.disk.text(`${STATE_FILE}.tmp`), copy);
      if (main === whole || copy === whole) assert.equal(status.desired?.revision, 1);
      for (const secret of Object.values(plainSecrets(world))) {
        assert.ok(!JSON.stringify(status).includes(secret));
      }
      assert.ok(!JSON.stringify(status).includes(world.stored(IDENTITY_FILE).keys.signing));
    }
  }
  assert.ok(before.length > 0);
});

Deno.test("status: what cannot be read is a problem, told without its content", async () => {
  const world = await createSettledWorld();
  await world.stop();
  world.disk.put(CONFIG_FILE, "enrollment_token: hunter2\nportal: http://example.com/\n");
  world.disk.put(STATE_FILE, '{"format": 7}');
  world.disk.put(IDENTITY_FILE, "hunter2");
  const { problems, stage } = await world.status();
  assert.equal(stage, "identity_unreadable");
  assert.equal(problems.length, 3);
  assert.match(problems.join("\n"), /config\.yaml: .*plain http/);
  assert.match(problems.join("\n"), /state\.json has format 7/);
  assert.match(problems.join("\n"), /identity\.json is no JSON/);
  assert.doesNotMatch(problems.join("\n"), /hunter2/);
});

Deno.test("status: a disk that does not read", async () => {
  const world = await createSettledWorld();
  await world.stop();
  world.disk.onCall((operation, path) =>
    operation === "read" && /pbx-agent/.test(path) ? "io" : null
  );
  const status = await readStatus(world.disk);
  assert.equal(status.stage, "identity_unreadable");
  assert.equal(status.problems.length, 4);
});

Deno.test("status: how far an operation has come, and that its result is not delivered yet", async () => {
  const machine = createMachine();
  const definition = toy({
    first: step(),
    long: step(() => new Promise(() => {})),
  });
  await startToy(machine, definition);
  await machine.clock.settle();
  const running = { id: "op-1", kind: "toy", state: "running", step: "long" };
  const now = (await readStatus(machine.disk)).operation;
  assert.deepEqual(partOf(now, running), running);
  const state = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
  assert.equal(now?.step_since, state.operation.steps[1].started_at);

  const result = { state: "failed", step: "long", message: "nobody came" };
  state.operation.result = result;
  machine.disk.put(STATE_FILE, JSON.stringify(state));
  const ended = (await readStatus(machine.disk)).operation;
  assert.deepEqual([ended?.state, ended?.step], ["failed", "long"]);
});

Deno.test("status: which operation keeps k3s from starting", async () => {
  const machine = createMachine();
  assert.equal((await readStatus(machine.disk)).k3s_hold, null);
  machine.disk.put(
    K3S_HOLD_FILE,
    `${holdWords("cluster.restore", "r-1", "its reset succeeded")}\n`,
  );
  const words = "cluster.restore r-1 holds k3s until its reset succeeded";
  assert.equal((await readStatus(machine.disk)).k3s_hold, words);
});

Deno.test("status: who may act on the cluster, by what the files say", async () => {
  const machine = createMachine();
  const state = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
  const custody = async (change: object) => {
    machine.disk.put(STATE_FILE, JSON.stringify({ ...state, ...change }));
    return (await readStatus(machine.disk)).custody;
  };
  assert.deepEqual(await custody({}), { who: "agent" });
  const reason = { kind: "other_cluster", known: state.kube_system_uid, seen: "another" };
  assert.deepEqual(await custody({ other_cluster: "another" }), { who: "nobody", reason });
  const begun_at = "2026-01-01T12:00:00Z";
  const empty = { params: {}, steps: [], handed: {}, events: [], seq: 0 };
  const operation = { id: "op-1", kind: "server.rejoin", begun_at, step: "wipe_db", ...empty };
  assert.deepEqual(await custody({ operation }), {
    who: "operation",
    id: "op-1",
    kind: "server.rejoin",
    step: "wipe_db",
  });
  machine.disk.put(K3S_HOLD_FILE, "held");
  assert.deepEqual(await custody({}), { who: "nobody", reason: { kind: "held", why: "held" } });
});
