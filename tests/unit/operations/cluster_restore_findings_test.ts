import assert from "node:assert/strict";
import { snapshotBytes, zipBytes } from "../../../adapters/fake/snapshot_bytes.ts";
import type { JsonObject } from "../../../core/json.ts";
import { K3S_CONFIG_FILE, STATE_FILE } from "../../../core/state/paths.ts";
import { BUCKET, CLUSTER } from "./machine.ts";
import {
  createRestoreMachine,
  LOCAL_SNAPSHOT,
  type RestoreMachine,
  SNAPSHOT,
  TOKEN,
  UID,
} from "./restore_world.ts";

import { createFakeServers } from "../../../adapters/fake/servers.ts";
import { withServers } from "./servers.ts";
import { assertUntouched, restored } from "./restored.ts";

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
    (m) => m.host.run([{ pid: 77, commandLine: "/usr/local/bin/k3s etcd-snapshot   " }]),
    /takes or changes a snapshot at the moment \(process 77\)/,
  ],
  [
    "processes that cannot be seen",
    (m) => m.host.run({ code: "missing", program: "/usr/bin/pgrep", message: "not there" }),
    /whether a k3s runs here cannot be seen: not there/,
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

/** The machine as the first of three servers, of which so many others run. */
function firstOfThree(running: number): RestoreMachine {
  const machine = withServers(createRestoreMachine());
  const members = [1, 2, 3].map((number) => ({
    id: String(number),
    name: `demo-${number}-${"a".repeat(8)}`,
    clientUrls: [],
    isLearner: false,
  }));
  const servers = createFakeServers({
    // With one of three left there is no majority, and nothing is shown.
    look: (url, token) =>
      url === "https://127.0.0.1:6443" && token.reveal() === TOKEN && running > 0
        ? { kubeSystemUid: UID, members }
        : null,
    isHealthy: ({ id }) => Number(id) <= running + 1,
    remove: () => false,
  });
  return { ...machine, ports: { ...machine.ports, servers } };
}

Deno.test("cluster.restore: of several servers no other may run, or there would be two clusters", async () => {
  for (const running of [1, 2]) {
    const machine = firstOfThree(running);
    const result = await restored(machine, { from: "local" });
    assert.equal(result.code, "checks_failed");
    const names = running === 1 ? "demo-2" : "demo-2, demo-3";
    assert.match(String(result.message), new RegExp(`these other servers run on: ${names};`));
    assertUntouched(machine);
  }
  const first = firstOfThree(0);
  const alone = await restored(first, { from: "local" });
  assert.match(first.disk.text(STATE_FILE) ?? "", /every other server has to rejoin/);
  assert.equal(alone.state, "succeeded", JSON.stringify(alone));
  // On the only server of a cluster nobody is asked.
  assert.equal(
    (await restored(withServers(firstOfThree(2), 1), { from: "local" })).state,
    "succeeded",
  );
});

Deno.test("cluster.restore: parameters that are missing or contradict are refused by name", async () => {
  const machine = createRestoreMachine();
  const sealed = machine.seal("x");
  const bucket = { endpoint: BUCKET.endpoint, bucket: "bkt", region: "r", folder: "f" };
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
