/**
 * An operation that an earlier version of the program took in hand, with parameters that are refused now:
 * 0.1.0 accepted any endpoint, bucket and folder, and public keys of small order.
 */
import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { definitionOf } from "../../../core/operations/registry.ts";
import type { OperationResult } from "../../../core/protocol/operation.ts";
import { STATE_FILE } from "../../../core/state/paths.ts";
import { accessOffer, people, withAuthority } from "./access.ts";
import { type CutCase, runCut } from "./cut_matrix.ts";
import { BUCKET, CLUSTER, createMachine, type Machine, openAgent } from "./machine.ts";
import { createRestoreMachine, type RestoreMachine, SNAPSHOT } from "./restore_world.ts";

const AT = "2026-01-01T12:00:00.000Z";

/** The journal of 0.1.0 for an operation whose step was cut short; null: none was begun. */
function frozenJournal(kind: string, params: JsonObject, step: string | null): JsonObject {
  const run = { name: step, started_at: AT, ended_at: null, state: "running" };
  const event = { seq: 1, at: AT, step, state: "started" };
  return {
    id: "op-1",
    kind,
    params,
    begun_at: AT,
    step,
    steps: step === null ? [] : [run],
    handed: {},
    events: step === null ? [] : [event],
    seq: step === null ? 0 : 1,
  };
}

function stateOf({ disk }: Machine): JsonObject {
  return JSON.parse(disk.text(STATE_FILE) ?? "");
}

function bucketOf(machine: Machine, change: JsonObject): JsonObject {
  return {
    endpoint: BUCKET.endpoint,
    bucket: BUCKET.bucket,
    region: BUCKET.region,
    folder: CLUSTER,
    access_key: machine.seal(BUCKET.accessKey.reveal()),
    secret_key: machine.seal(BUCKET.secretKey.reveal()),
    ...change,
  };
}

/** Goes on with what 0.1.0 left; the result. */
async function resumed(
  machine: Machine,
  kind: string,
  params: JsonObject,
  step: string | null,
): Promise<OperationResult> {
  const operation = frozenJournal(kind, params, step);
  machine.disk.put(STATE_FILE, JSON.stringify({ ...stateOf(machine), operation }));
  const { result } = await runCut({
    setUp: () => machine,
    offer: () => ({ id: "op-1", kind, params }),
    mayEnd: ["failed", "refused"],
    assertEnd: () => {},
  }, null);
  return result;
}

/** What the schema of a bucket refuses now, and did not. */
const BUCKETS: readonly JsonObject[] = [
  { endpoint: "http://minio.example.com:9000" },
  { endpoint: "169.254.169.254" },
  { bucket: "Snapshots_1" },
  { region: "eu central" },
  { region: "" },
  { folder: "/demo" },
  { folder: "" },
  { folder: "a/../b" },
];

/** Of small order: anyone could open what is sealed to it. */
const WEAK_KEY = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

for (const bucket of BUCKETS) {
  Deno.test(`begun by 0.1.0: s3.verify with ${JSON.stringify(bucket)} ends and asks nothing`, async () => {
    for (const [step, state] of [[null, "refused"], ["list_bucket", "failed"]] as const) {
      const machine = createMachine();
      machine.s3.faults.unreachable = "refused";
      const result = await resumed(machine, "s3.verify", bucketOf(machine, bucket), step);
      assert.equal(result.state, state);
      assert.equal(result.code, "invalid_params");
      const [name = ""] = Object.keys(bucket);
      assert.match(String(result.message), new RegExp(`params\\.${name}.*earlier version.*ask`));
    }
  });

  Deno.test(`begun by 0.1.0: cluster.restore with ${JSON.stringify(bucket)} that began nothing is refused`, async () => {
    const machine = createRestoreMachine();
    const params = { snapshot: SNAPSHOT, from: "s3", ...bucketOf(machine, bucket) };
    const result = await resumed(machine, "cluster.restore", params, null);
    assert.deepEqual([result.state, result.code], ["refused", "invalid_params"]);
    assert.equal(machine.systemd.units.get("k3s.service")?.state, "active");
    assert.deepEqual(machine.k3s.runs, []);
  });
}

/** How far the cuts of a restore are apart. */
const CALLS_APART = Deno.env.get("PBX_LONG") === "1" ? 1 : 11;

/** A restore whose parameters become those of an earlier version with its first step. */
function restoring(bucket: JsonObject): CutCase<RestoreMachine> {
  let machine: RestoreMachine;
  return {
    setUp: () => machine = createRestoreMachine(),
    offer: (machine) => ({
      id: "op-1",
      kind: "cluster.restore",
      params: { snapshot: SNAPSHOT, from: "s3", ...bucketOf(machine, {}) },
    }),
    open(ports) {
      const state = stateOf(machine);
      const operation = state["operation"] as JsonObject | null;
      if (operation !== null && operation["step"] !== null && operation["result"] === undefined) {
        const params = { ...operation["params"] as JsonObject, ...bucket };
        machine.disk.put(
          STATE_FILE,
          JSON.stringify({ ...state, operation: { ...operation, params } }),
        );
      }
      return openAgent(ports);
    },
    mayEnd: ["succeeded", "failed"],
    assertEnd({ k3s, systemd }, { result, calls }) {
      const resets = calls.filter(({ name }) => name === "k3s.resetCluster").length;
      assert.ok(resets === 1, `${resets} resets`);
      if (result.state === "succeeded") {
        assert.equal(systemd.units.get("k3s.service")?.state, "active");
        assert.equal(k3s.runs.length, 1);
      } else assert.equal(result.code, "unclear", JSON.stringify(result));
    },
  };
}

Deno.test("begun by 0.1.0: a restore from a bucket that is refused now goes to its end, cut anywhere", async () => {
  const one = restoring({ folder: `/${CLUSTER}` });
  const { calls } = await runCut(one, null);
  assert.ok(calls.length > 100, String(calls.length));
  for (let call = 5; call <= calls.length; call += CALLS_APART) {
    await runCut(one, { call, moment: "before" });
  }
});

Deno.test("begun by 0.1.0: nothing more is fetched from a bucket that is refused now once k3s is held", async () => {
  const whole = await runCut(restoring({}), null);
  const call = whole.calls.findIndex(({ name }) => name === "k3s.resetCluster") + 1;
  for (const bucket of BUCKETS) {
    const { result } = await runCut(restoring(bucket), { call, moment: "before" });
    assert.equal(result.state, "succeeded", JSON.stringify(bucket));
  }
});

for (
  const [kind, params, step] of [
    ["access.issue", accessOffer({ recipient: WEAK_KEY }).params, "token"],
    ["diag.collect", { consent: { by: "ada", at: AT }, recipient: WEAK_KEY }, "collect"],
  ] as const
) {
  Deno.test(`begun by 0.1.0: ${kind} for a key of small order ends, and seals nothing to it`, async () => {
    for (const begun of [null, step]) {
      const machine = withAuthority();
      const result = await resumed(machine, kind, params, begun);
      assert.deepEqual(
        [result.state, result.code],
        [begun === null ? "refused" : "failed", "invalid_params"],
      );
      assert.match(String(result.message), /params\.recipient.*small order/);
      assert.equal(result.output, undefined);
      assert.deepEqual(await people(machine), []);
    }
  });
}

Deno.test("begun by 0.1.0: no operation lets the agent fail with a fault of its own", async () => {
  for (const kind of ["s3.verify", "cluster.restore", "access.issue", "snapshot.save"]) {
    const [step = ""] = Object.keys(definitionOf(kind)?.steps ?? {});
    const result = await resumed(createMachine(), kind, { unknown: 1 }, step);
    assert.deepEqual([result.state, result.code], ["failed", "invalid_params"], kind);
  }
});
