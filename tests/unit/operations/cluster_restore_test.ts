import assert from "node:assert/strict";
import { snapshotBytes, zipBytes } from "../../../adapters/fake/snapshot_bytes.ts";
import type { JsonObject } from "../../../core/json.ts";
import { operationLogPath } from "../../../core/operations/operation_log.ts";
import type { OperationResult } from "../../../core/protocol/operation.ts";
import {
  K3S_CONFIG_FILE,
  K3S_HOLD_DROP_IN,
  K3S_HOLD_FILE,
  K3S_TOKEN_FILE,
  RESTORE_DIRECTORY,
  STATE_FILE,
} from "../../../core/state/paths.ts";
import { runCut } from "./cut_matrix.ts";
import { BUCKET, CLUSTER } from "./machine.ts";
import {
  createRestoreMachine,
  LOCAL_SNAPSHOT,
  type Resetting,
  type RestoreMachine,
  SNAPSHOT,
  TOKEN,
  UID,
} from "./restore_world.ts";

const ID = "op_restore_1";

async function restored(
  machine: RestoreMachine,
  params: JsonObject = {},
): Promise<OperationResult> {
  const { result } = await runCut({
    setUp: () => machine,
    offer: () => ({
      id: ID,
      kind: "cluster.restore",
      params: { snapshot: SNAPSHOT, from: "s3", ...params },
    }),
    mayEnd: ["succeeded", "failed", "refused"],
    assertEnd: () => {},
  }, null);
  return result;
}

/** Nothing that matters was touched: k3s runs, nothing holds it, the old data is in its place. */
function assertUntouched(machine: RestoreMachine): void {
  assert.equal(machine.systemd.units.get("k3s.service")?.state, "active");
  assert.deepEqual(machine.systemd.calls.filter((call) => call.startsWith("stop")), []);
  assert.deepEqual(machine.k3s.runs, []);
  assertOldDatabase(machine);
  assert.equal(machine.disk.text(K3S_HOLD_FILE), null);
  assert.deepEqual(snapshotCopies(machine), []);
}

function assertOldDatabase({ disk }: RestoreMachine): void {
  assert.equal(disk.text("/var/lib/rancher/k3s/server/db/etcd/member/wal/0.wal"), "old");
}

/** k3s stays down, whoever tries to start it. */
async function assertHeld(machine: RestoreMachine): Promise<void> {
  assert.equal(machine.systemd.units.get("k3s.service")?.state, "inactive");
  assert.ok(machine.disk.text(K3S_HOLD_FILE) !== null);
  const dropIn = `ConditionPathExists=!${K3S_HOLD_FILE}`;
  assert.ok(machine.disk.text(K3S_HOLD_DROP_IN)?.includes(dropIn));
  const stat = await machine.disk.stat(K3S_HOLD_DROP_IN);
  assert.equal(stat.ok && stat.value?.mode, 0o644);
  assert.deepEqual(snapshotCopies(machine), []);
}

function snapshotCopies({ disk }: RestoreMachine): readonly string[] {
  return disk.paths().filter((path) =>
    path.startsWith(RESTORE_DIRECTORY) && /received|snapshot$|given-token/.test(path)
  );
}

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

/** What is wrong before anything is stopped, and the words for it. */
const FINDINGS: readonly (readonly [string, (m: RestoreMachine) => void, RegExp, JsonObject?])[] = [
  ["no such snapshot on the node", () => {}, /has no snapshot nothing-1; it has pbx-op_1/, {
    from: "local",
    snapshot: "nothing-1",
  }],
  ["no such object in the bucket", () => {}, /has no object demo\/nothing-1/, {
    snapshot: "nothing-1",
  }],
  ["an empty object", (m) => m.s3.put(`${CLUSTER}/${SNAPSHOT}`, new Uint8Array()), /is empty/],
  [
    "a truncated one",
    (m) => m.s3.put(`${CLUSTER}/${SNAPSHOT}`, snapshotBytes().slice(0, 5_000)),
    /no whole snapshot: it ends too early/,
  ],
  [
    "a flipped bit",
    (m) => {
      const bytes = snapshotBytes({ tokens: [TOKEN], texts: [UID] });
      bytes[9_000] = 1;
      m.disk.put(LOCAL_SNAPSHOT, bytes);
    },
    /no whole snapshot: its content is damaged/,
    { from: "local" },
  ],
  ["a zip of two", (m) => {
    const bytes = snapshotBytes();
    m.s3.put(`${CLUSTER}/${SNAPSHOT}`, zipBytes([{ name: "a", bytes }, { name: "b", bytes }]));
  }, /holds 2 files/],
  [
    "another token",
    (m) => m.s3.put(`${CLUSTER}/${SNAPSHOT}`, snapshotBytes({ tokens: ["other"], texts: [UID] })),
    /this node's token \(hash [0-9a-f]{12}\) is not the snapshot's/,
  ],
  [
    "another cluster",
    (m) => m.s3.put(`${CLUSTER}/${SNAPSHOT}`, snapshotBytes({ tokens: [TOKEN] })),
    /of another cluster/,
  ],
  [
    "a newer k3s",
    (m) =>
      m.s3.put(
        `${CLUSTER}/${SNAPSHOT}`,
        snapshotBytes({ tokens: [TOKEN], texts: [UID], k3sVersion: "v1.36.4+k3s1" }),
      ),
    /v1\.36\.3\+k3s1 is older than the snapshot's v1\.36\.4\+k3s1/,
  ],
  [
    "a server to join",
    (m) =>
      m.disk.put("/etc/rancher/k3s/config.yaml.d/90-x.yaml", "server: https://10.0.0.1:6443\n"),
    /90-x\.yaml has the server/,
  ],
  [
    "a configuration that is none",
    (m) => m.disk.put(K3S_CONFIG_FILE, "a: [\n"),
    /is no YAML mapping/,
  ],
  [
    "a snapshot under way",
    (m) => m.disk.put("/proc/77/cmdline", "/usr/local/bin/k3s etcd-snapshot   "),
    /takes or changes a snapshot at the moment \(process 77\)/,
  ],
  ["no k3s", (m) => m.k3s.install(null), /k3s does not run/],
  ["no room", (m) => m.disk.setCapacity(300 * 1024 ** 2), /no room on the disk for/],
  [
    "the bucket gone",
    (m) => void (m.s3.faults.unreachable = "refused"),
    /cannot be asked for .*connection refused/,
  ],
  [
    "keys that may not read",
    (m) => void (m.s3.faults.denied = ["read"]),
    /cannot be asked for .*AccessDenied/,
  ],
];

for (const [what, change, words, params] of FINDINGS) {
  Deno.test(`cluster.restore: ${what}: refused before anything is stopped`, async () => {
    const machine = createRestoreMachine();
    if (what === "no room") {
      // Room for the agent's own files, not for the reserve.
      machine.disk.put("/var/filler", new Uint8Array(50 * 1024 ** 2));
    }
    change(machine);
    const result = await restored(machine, params);
    assert.deepEqual([result.state, result.step, result.code], [
      "failed",
      "stop_k3s",
      "checks_failed",
    ]);
    assert.match(String(result.message), /^nothing was stopped or changed/);
    assert.match(String(result.message), words);
    assertUntouched(machine);
  });
}

Deno.test("cluster.restore: all that is wrong is told at once", async () => {
  const machine = createRestoreMachine({
    tokens: ["other"],
    texts: [],
    k3sVersion: "v1.99.0+k3s1",
  });
  machine.disk.put("/etc/rancher/k3s/config.yaml.d/90-x.yaml", "server: https://10.0.0.1:6443\n");
  const { message } = await restored(machine);
  assert.match(
    String(message),
    /4 things are against it: \(1\) .*server.*\(2\) .*token.*\(3\) .*older.*\(4\) .*another cluster/,
  );
  assertUntouched(machine);
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
    const { result } = await runCut({
      setUp() {
        const state = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
        machine.disk.put(STATE_FILE, JSON.stringify({ ...state, operation: null }));
        return machine;
      },
      offer: () => ({
        id: "op_2",
        kind: "cluster.restore",
        params: { snapshot: SNAPSHOT, from: "s3" },
      }),
      apiUp: false,
      assertEnd: () => {},
    }, null);
    assert.equal(result.state, "succeeded", `${until}: ${JSON.stringify(result)}`);
    assert.equal(machine.disk.text(K3S_HOLD_FILE), null);
  }
});

Deno.test("cluster.restore: the own Node is never deleted, whatever k3s calls it", async () => {
  const machine = createRestoreMachine();
  machine.disk.put("/proc/sys/kernel/hostname", "host-name\n");
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

Deno.test("cluster.restore: parameters that are missing or contradict are refused by name", async () => {
  const machine = createRestoreMachine();
  const sealed = machine.seal("x");
  const bucket = { endpoint: BUCKET.endpoint, bucket: "b", region: "r", folder: "f" };
  const cases: readonly (readonly [JsonObject, RegExp])[] = [
    [{ snapshot: "../../etc/shadow" }, /params\.snapshot/],
    [{ snapshot: "a/b" }, /params\.snapshot/],
    [{ from: "elsewhere" }, /params\.from/],
    [{ ...bucket, access_key: sealed }, /params\.secret_key: is missing/],
    [{ secret_key: sealed }, /params\.endpoint: is missing/],
    [
      { ...bucket, access_key: sealed, secret_key: sealed, from: "local" },
      /params\.endpoint: goes with/,
    ],
    [{ token: "in-clear" }, /params\.token/],
    [{ bogus: 1 }, /bogus/],
  ];
  for (const [params, words] of cases) {
    const result = await restored(createRestoreMachine(), params);
    assert.deepEqual(
      [result.state, result.code],
      ["refused", "invalid_params"],
      JSON.stringify(params),
    );
    assert.match(String(result.message), words);
  }
});
