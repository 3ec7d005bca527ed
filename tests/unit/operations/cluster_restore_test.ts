import assert from "node:assert/strict";
import { snapshotBytes, zipBytes } from "../../../adapters/fake/snapshot_bytes.ts";
import { operationLogPath } from "../../../core/operations/operation_log.ts";
import { fail } from "../../../core/result.ts";
import {
  K3S_CONFIG_FILE,
  K3S_HOLD_DROP_IN,
  K3S_HOLD_FILE,
  K3S_TOKEN_FILE,
  RESTORE_DIRECTORY,
  STATE_FILE,
} from "../../../core/state/paths.ts";
import { runCut } from "./cut_matrix.ts";
import { CLUSTER } from "./machine.ts";
import {
  createRestoreMachine,
  LOCAL_SNAPSHOT,
  type Resetting,
  type RestoreMachine,
  SNAPSHOT,
  TOKEN,
  UID,
} from "./restore_world.ts";

import { assertHeld, ID, restored, snapshotCopies } from "./restored.ts";

for (const from of ["local", "s3"] as const) {
  for (const zip of [false, true]) {
    Deno.test(`cluster.restore: from ${from}, ${zip ? "compressed" : "plain"}`, async () => {
      const machine = createRestoreMachine();
      const plain = snapshotBytes({ tokens: [TOKEN], texts: [UID] });
      const bytes = zip ? zipBytes([{ name: "../../x", bytes: plain }]) : plain;
      const snapshot = zip ? `${SNAPSHOT}.zip` : SNAPSHOT;
      if (from === "local") machine.disk.put(zip ? `${LOCAL_SNAPSHOT}.zip` : LOCAL_SNAPSHOT, bytes);
      else machine.s3.put(`${CLUSTER}/${snapshot}`, bytes);
      const result = await restored(machine, { from, snapshot });
      assert.equal(result.state, "succeeded", JSON.stringify(result));
      assert.deepEqual(result.output, {
        snapshot,
        size: bytes.length,
        forgotten_nodes: ["gone-1"],
      });
      const isCopied = from === "s3" || zip;
      const file = isCopied
        ? `${RESTORE_DIRECTORY}/${zip ? "snapshot" : "received"}`
        : LOCAL_SNAPSHOT;
      assert.deepEqual(machine.k3s.runs, [`reset ${file}`]);
      const { disk, k8s } = machine;
      assert.deepEqual([disk.text(K3S_HOLD_FILE), disk.text(K3S_HOLD_DROP_IN)], [null, null]);
      assert.equal(machine.systemd.units.get("k3s.service")?.state, "active");
      assert.deepEqual(snapshotCopies(machine), []);
      assert.equal(k8s.read("/api/v1/nodes/gone-1"), null);
      assert.ok(k8s.read("/api/v1/nodes/alive-1") !== null);
      assert.ok(k8s.read("/api/v1/nodes/demo-1") !== null);
    });
  }
}

Deno.test("cluster.restore: another bucket, token and cluster, all given", async () => {
  const machine = createRestoreMachine({
    tokens: ["the-other-token"],
    texts: ["11111111-2222-3333-4444-555555555555"],
  });
  const { disk } = machine;
  const bootstrap = "/var/lib/pbx-agent/bootstrap.json";
  const document = JSON.parse(disk.text(bootstrap) ?? "");
  const etcd_s3 = document.answer.secrets.etcd_s3;
  delete document.answer.secrets.etcd_s3;
  disk.put(bootstrap, JSON.stringify(document));
  const result = await restored(machine, {
    ...etcd_s3,
    token: machine.seal("the-other-token"),
    kube_system_uid: UID,
  });
  // The fake API keeps its UID, so that the snapshot must hold it for this test to go on.
  assert.equal(result.code, "checks_failed");
  machine.s3.put(
    `${CLUSTER}/${SNAPSHOT}`,
    snapshotBytes({ tokens: ["the-other-token"], texts: [UID] }),
  );
  const again = createRestoreMachine({ tokens: ["the-other-token"] });
  const state = JSON.parse(again.disk.text(STATE_FILE) ?? "");
  again.disk.put(
    STATE_FILE,
    JSON.stringify({ ...state, kube_system_uid: "another-uid-of-before" }),
  );
  const end = await restored(again, {
    token: again.seal("the-other-token"),
    kube_system_uid: UID,
  });
  assert.equal(end.state, "succeeded", JSON.stringify(end));
  assert.equal(
    again.disk.text(K3S_CONFIG_FILE),
    '# ours\ncluster-init: true\ntoken: "the-other-token"\n',
  );
  assert.match(again.disk.text(K3S_TOKEN_FILE) ?? "", /the-other-token/);
  assert.equal(JSON.parse(again.disk.text(STATE_FILE) ?? "").kube_system_uid, UID);
  assert.ok(!(again.disk.text(operationLogPath(ID)) ?? "").includes("the-other-token"));
});

/** A reset that fails, and what the operator has to read. */
const FAILURES: readonly (readonly [string, Resetting, RegExp])[] = [
  ["at once", {
    until: "nothing",
    lines: ["Error: listen tcp 127.0.0.1:6444: bind: address already in use"],
  }, /another k3s runs.*the database was not touched.*systemctl start k3s/],
  [
    "with the database moved",
    { until: "etcd moved aside", lines: ['level=fatal msg="no space left on device"'] },
    /the disk is full.*moved aside and nothing whole.*the old data is whole in \/var\/lib\/rancher\/k3s\/server\/db\/etcd-old-[0-9]+/,
  ],
  ["before it is named", { until: "etcd restored" }, /not done making it its database.*etcd-old-/],
  ["with a wrong token", {
    until: "token overwritten",
    lines: ['level=fatal msg="bootstrap data already found and encrypted with different token"'],
  }, /the token is not the one.*did not take the cluster's certificates/],
  [
    "with 0 and no words",
    { until: "tls moved aside", exit: { code: 0 } },
    /k3s ended with 0.*looks complete, but nobody saw/,
  ],
  ["with the words and 1", { exit: { code: 1 } }, /k3s ended with 1.*looks complete/],
  ["at its time limit", { until: "flag written", exit: "timeout" }, /did not end in time/],
];

for (const [what, resetting, words] of FAILURES) {
  Deno.test(`cluster.restore: a reset that fails ${what} is never followed by a start`, async () => {
    const machine = createRestoreMachine();
    machine.resetting = resetting;
    const before = machine.disk.text(K3S_TOKEN_FILE);
    const result = await restored(machine);
    assert.deepEqual(
      [result.state, result.step],
      ["failed", "reset_restore"],
      JSON.stringify(result),
    );
    assert.match(String(result.message), words);
    assert.match(String(result.message), /A new cluster\.restore may follow/);
    assert.deepEqual(machine.systemd.calls.filter((call) => call.startsWith("start")), []);
    await assertHeld(machine);
    assert.equal(machine.disk.text(K3S_TOKEN_FILE), before);
    assert.equal(machine.k3s.runs.length, 1);
    assert.ok((result.log_tail ?? []).length > 2);
  });
}

Deno.test("cluster.restore: a wrong token that nothing could tell is put back", async () => {
  const machine = createRestoreMachine({ tokens: [] });
  machine.resetting = { until: "token overwritten", exit: { code: 1 } };
  const before = machine.disk.text(K3S_TOKEN_FILE);
  const result = await restored(machine, { token: machine.seal("a-wrong-token") });
  assert.match(
    String(result.message),
    /had overwritten its token with the one it was given, which was put back/,
  );
  assert.equal(machine.disk.text(K3S_TOKEN_FILE), before);
  assert.match(machine.disk.text(K3S_CONFIG_FILE) ?? "", new RegExp(TOKEN));
});

Deno.test("cluster.restore: a new one may follow a failed one", async () => {
  for (const until of ["etcd moved aside", "etcd restored", "token overwritten"] as const) {
    const machine = createRestoreMachine();
    machine.resetting = { until };
    assert.equal((await restored(machine)).state, "failed");
    machine.resetting = {};
    await machine.clock.advance(60_000);
    const result = await restoredAgain(machine, "op_2");
    assert.equal(result.state, "succeeded", `${until}: ${JSON.stringify(result)}`);
    assert.equal(machine.disk.text(K3S_HOLD_FILE), null);
  }
});

Deno.test("cluster.restore: one that fails after a failed one tells the old data from its rest", async () => {
  const machine = createRestoreMachine();
  machine.resetting = { until: "etcd moved aside" };
  const first = await restored(machine);
  const old = /the old data is whole in (\S+);/.exec(first.message ?? "")?.[1];
  assert.ok(old !== undefined, first.message);
  for (const [index, until] of (["nothing", "etcd restored", "nothing"] as const).entries()) {
    machine.resetting = { until };
    await machine.clock.advance(60_000);
    const { message = "" } = await restoredAgain(machine, `op_${index + 2}`);
    assert.ok(message.includes(`the old data is whole in ${old};`), `${until}: ${message}`);
    assert.ok(message.includes("Do not start k3s by hand"), message);
    await assertHeld(machine);
  }
});

/** Another restore, when the result of the one before it is acknowledged. */
async function restoredAgain(machine: RestoreMachine, id: string) {
  const { result } = await runCut({
    setUp() {
      const state = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
      machine.disk.put(STATE_FILE, JSON.stringify({ ...state, operation: null }));
      return machine;
    },
    offer: () => ({ id, kind: "cluster.restore", params: { snapshot: SNAPSHOT, from: "s3" } }),
    apiUp: false,
    mayEnd: ["succeeded", "failed"],
    assertEnd: () => {},
  }, null);
  return result;
}

Deno.test("cluster.restore: the own Node is never deleted, whatever k3s calls it", async () => {
  const machine = createRestoreMachine();
  machine.host.set({ hostName: "host-name" });
  const text = machine.disk.text(K3S_CONFIG_FILE);
  machine.disk.put(K3S_CONFIG_FILE, `${text}node-name: configured\n`);
  for (const name of ["host-name", "configured"]) machine.k8s.setNode(name, false);
  const result = await restored(machine);
  assert.deepEqual(result.output?.["forgotten_nodes"], ["gone-1"]);
  for (const name of ["host-name", "configured", "demo-1"]) {
    assert.ok(machine.k8s.read(`/api/v1/nodes/${name}`) !== null, name);
  }
});

for (const coming of ["sqlite", "another"] as const) {
  Deno.test(`cluster.restore: k3s that comes up as ${coming} is stopped and held again`, async () => {
    const machine = createRestoreMachine({ texts: [UID, "another-uid-altogether"] });
    machine.coming = coming;
    const params = coming === "another" ? { kube_system_uid: "another-uid-altogether" } : {};
    const result = await restored(machine, params);
    assert.deepEqual(
      [result.step, result.code],
      ["wait_api", "wrong_cluster"],
      JSON.stringify(result),
    );
    assert.match(
      String(result.message),
      coming === "sqlite" ? /sqlite database/ : /another cluster/,
    );
    assert.match(String(result.message), /stopped again and is held.*etcd-old-/);
    await assertHeld(machine);
  });
}

Deno.test("cluster.restore: an API that never comes up is said, with what to look at", async () => {
  const machine = createRestoreMachine();
  machine.coming = "nothing";
  const result = await restored(machine);
  assert.deepEqual([result.step, result.code], ["wait_api", "timeout"]);
  assert.match(String(result.message), /the database was restored.*journalctl -u k3s\.service/);
  assert.equal(machine.disk.text(K3S_HOLD_FILE), null);
});

Deno.test("cluster.restore: a Node is deleted once the API can, and one that came anew meanwhile stays", async () => {
  for (
    const [status, times, forgotten] of [[500, 2, ["gone-1"]], [429, 2, ["gone-1"]], [
      409,
      99,
      [],
    ]] as const
  ) {
    const machine = createRestoreMachine();
    const { k8s } = machine.ports;
    const { remove } = k8s;
    let refused = 0;
    Object.assign(k8s, {
      remove(...call: Parameters<typeof remove>) {
        if (refused++ >= times) return remove(...call);
        const message = `the server says ${status}`;
        return Promise.resolve(fail({ code: "refused", status, reason: "", message } as const));
      },
    });
    const result = await restored(machine);
    assert.equal(result.state, "succeeded", JSON.stringify(result));
    assert.deepEqual(result.output?.["forgotten_nodes"], forgotten, `${status}`);
  }
});
