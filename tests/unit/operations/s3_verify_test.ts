import assert from "node:assert/strict";
import { s3Verify } from "../../../core/operations/s3_verify.ts";
import { cutMatrix } from "./cut_matrix.ts";
import { BUCKET, createMachine, type Machine } from "./machine.ts";
import { logOf, runToy } from "./toy.ts";

function paramsOn(machine: Machine, change: { secretKey?: string; folder?: string } = {}) {
  return {
    endpoint: BUCKET.endpoint,
    bucket: BUCKET.bucket,
    region: BUCKET.region,
    folder: change.folder ?? "demo",
    access_key: machine.seal(BUCKET.accessKey.reveal()),
    secret_key: machine.seal(change.secretKey ?? BUCKET.secretKey.reveal()),
  };
}

function withObjects(): Machine {
  const machine = createMachine();
  for (const key of ["demo/one", "demo/two", "demo-2/three", "four"]) {
    machine.s3.put(key, new Uint8Array(3));
  }
  return machine;
}

for (const [folder, objects] of [["demo", 2], ["./demo//", 2], ["empty", 0]] as const) {
  Deno.test(`s3.verify: folder '${folder}' has ${objects} objects, and only its own`, async () => {
    const machine = withObjects();
    const { result } = await runToy(machine, s3Verify, paramsOn(machine, { folder }));
    assert.deepEqual(result, { state: "succeeded", output: { objects } });
  });
}

Deno.test("s3.verify: wrong keys, and a bucket that is not there or says no, are told apart", async () => {
  const failures: [string, (machine: Machine) => object][] = [
    ["wrong_keys", (machine) => paramsOn(machine, { secretKey: "another-secret-key" })],
    ["no_bucket", (machine) => ({ ...paramsOn(machine), bucket: "another" })],
    ["denied", (machine) => {
      machine.s3.faults.denied = ["list"];
      return paramsOn(machine);
    }],
    ["clock_skew", (machine) => {
      machine.s3.faults.clockAhead = 3_600_000;
      return paramsOn(machine);
    }],
    ["unreachable", (machine) => {
      machine.s3.faults.unreachable = "refused";
      return paramsOn(machine);
    }],
  ];
  for (const [code, prepare] of failures) {
    const machine = withObjects();
    const journal = await runToy(machine, s3Verify, JSON.parse(JSON.stringify(prepare(machine))));
    assert.equal(journal.result?.state, "failed");
    assert.equal(journal.result?.step, "list_bucket");
    assert.equal(journal.result?.code, code);
    const told = JSON.stringify([journal.result, journal.events]) + logOf(machine);
    for (const secret of [BUCKET.accessKey, BUCKET.secretKey]) {
      assert.ok(!told.includes(secret.reveal()), code);
    }
    assert.ok(!told.includes("another-secret-key"));
  }
});

Deno.test("s3.verify: killed at every call, it ends", async () => {
  await cutMatrix({
    setUp: withObjects,
    offer: (machine) => ({ id: "op-1", kind: "s3.verify", params: paramsOn(machine) }),
    assertEnd: (_machine, { result }) => assert.deepEqual(result.output, { objects: 2 }),
  });
});
