import assert from "node:assert/strict";
import type { JsonValue } from "../../../core/json.ts";
import { scanEnrollAnswer, scanSyncAnswer } from "../../../core/protocol/secret_positions.ts";
import { ENROLLMENT_DOCUMENTS } from "../../../fixtures/source/enrollment.ts";
import { OPERATIONS } from "../../../fixtures/source/operations.ts";
import { SYNC_DOCUMENTS } from "../../../fixtures/source/syncing.ts";

type Scan = typeof scanSyncAnswer;

const BOX = { sealed: "AAAA" };
const CLEAR = "hunter2-in-clear";

/** Everything that may stand where a box belongs, and is none. */
const NO_BOXES: readonly JsonValue[] = [
  CLEAR,
  "",
  null,
  0,
  1234,
  true,
  false,
  [],
  [BOX],
  {},
  { sealed: null },
  { sealed: 5 },
  { sealed: [CLEAR] },
  { sealed: { sealed: CLEAR } },
  { Sealed: CLEAR },
];

/** A document whose only content is `value` at the dotted `path`; a number makes a list. */
function placed(path: string, value: JsonValue): JsonValue {
  return path.split(".").reduceRight<JsonValue>(
    (inner, step) => step === "0" ? [inner] : { [step]: inner },
    value,
  );
}

/** Each position of protocol §2: the scan that knows it, where to place it, how it is named. */
const POSITIONS: readonly (readonly [Scan, string, string])[] = [
  ...["k3s.token", "k3s.agent_token", "secrets.hcloud.token"].map(
    (path) => [scanEnrollAnswer, path, path] as const,
  ),
  ...["secrets.etcd_s3.access_key", "secrets.etcd_s3.secret_key"].flatMap((path) => [
    [scanEnrollAnswer, path, path] as const,
    [scanSyncAnswer, `desired.${path}`, `desired.${path}`] as const,
  ]),
  [scanSyncAnswer, "desired.secrets.hcloud.token", "desired.secrets.hcloud.token"],
  [scanSyncAnswer, "desired.addons.0.secret_options.key", "desired.addons[0].secret_options.key"],
  ...["password", "identity_token"].map((name) => {
    const path = `desired.host.registries.configs.registry:5000.${name}`;
    return [scanSyncAnswer, path, path] as const;
  }),
  ...["access_key", "secret_key", "token"].map((name) =>
    [scanSyncAnswer, `operation.params.${name}`, `operation.params.${name}`] as const
  ),
];

Deno.test("scan: finds the box at every position of protocol §2", () => {
  for (const [scan, path, named] of POSITIONS) {
    const result = scan(placed(path, BOX));
    assert.ok(result.ok);
    const [{ path: at, box, steps } = { path: "", box: "", steps: [] }, ...others] = result.value;
    assert.deepEqual([at, box, steps.join("."), others.length], [named, "AAAA", path, 0]);
  }
});

Deno.test("scan: refuses whatever else stands at a position, and never shows it", () => {
  for (const [scan, path, named] of POSITIONS) {
    for (const value of NO_BOXES) {
      const result = scan(placed(path, value));
      assert.ok(!result.ok, `${path}: ${JSON.stringify(value)}`);
      assert.equal(result.error.code, "unsealed_secret");
      assert.equal(result.error.path, named);
      assert.ok(result.error.message.startsWith(`${named}: `));
      assert.ok(!JSON.stringify(result).includes(CLEAR));
    }
  }
});

Deno.test("scan: a box with further members is left to the schema, which refuses them", () => {
  const result = scanSyncAnswer(placed("operation.params.token", { ...BOX, note: "x" }));
  assert.ok(result.ok);
});

Deno.test("scanEnrollAnswer: a k3s.config may not name a secret, whatever its value", () => {
  const names = [
    "token",
    "agent-token",
    "etcd-s3-access-key",
    "etcd-s3-secret-key",
    "etcd-s3-session-token",
    "datastore-endpoint",
    "vpn-auth",
    "t",
  ];
  for (const name of names) {
    for (const key of [name, `${name}+`]) {
      for (const value of [CLEAR, "", null, [], BOX]) {
        const result = scanEnrollAnswer({ k3s: { config: { "tls-san": [], [key]: value } } });
        assert.ok(!result.ok, key);
        assert.equal(result.error.code, "unsealed_secret");
        assert.equal(result.error.path, `k3s.config.${key}`);
        assert.ok(!result.error.message.includes(CLEAR));
      }
    }
  }
});

Deno.test("scanEnrollAnswer: a flag with its value in the key is refused without showing it", () => {
  const result = scanEnrollAnswer({ k3s: { config: { [`token=${CLEAR}\nx`]: "" } } });
  assert.ok(!result.ok);
  assert.equal(result.error.path, "k3s.config.token");
  assert.ok(!JSON.stringify(result).includes(CLEAR));
});

Deno.test("scanEnrollAnswer: other k3s settings are no secrets", () => {
  const config = { "token-file": "/x", "etcd-s3": true, "node-name": "token", "disable+": ["t"] };
  assert.deepEqual(scanEnrollAnswer({ k3s: { config } }), { ok: true, value: [] });
});

Deno.test("scanSyncAnswer: a secret_options that is no map hides nothing", () => {
  for (const value of [CLEAR, [CLEAR], [BOX], [], 7, true]) {
    const result = scanSyncAnswer({ desired: { addons: [{ secret_options: value }] } });
    assert.ok(!result.ok, JSON.stringify(value));
    assert.equal(result.error.path, "desired.addons[0].secret_options");
  }
});

Deno.test("scanSyncAnswer: every add-on and every option is looked at, also where addons is no list", () => {
  const addons = [{ secret_options: { a: BOX } }, null, "x", {
    secret_options: { a: BOX, b: CLEAR },
  }];
  const listed = scanSyncAnswer({ desired: { addons } });
  assert.ok(!listed.ok);
  assert.equal(listed.error.path, "desired.addons[3].secret_options.b");
  const mapped = scanSyncAnswer({ desired: { addons: { dns: { secret_options: { b: CLEAR } } } } });
  assert.ok(!mapped.ok);
  assert.equal(mapped.error.path, "desired.addons.dns.secret_options.b");
});

Deno.test("scan: odd shapes hold no named position and are left to the schema", () => {
  const odd: readonly JsonValue[] = [
    null,
    "text",
    [],
    {},
    { k3s: CLEAR, secrets: CLEAR },
    { k3s: [CLEAR], secrets: { hcloud: CLEAR, etcd_s3: [CLEAR] } },
    { k3s: { config: [CLEAR] } },
    { desired: null, operation: null },
    { desired: [CLEAR], operation: { params: CLEAR } },
    { desired: { secrets: { hcloud: CLEAR }, addons: CLEAR } },
    { desired: { addons: [{ secret_options: null }] } },
  ];
  for (const body of odd) {
    assert.deepEqual(scanEnrollAnswer(body), { ok: true, value: [] });
    assert.deepEqual(scanSyncAnswer(body), { ok: true, value: [] });
  }
});

Deno.test("scan: names each position of the example documents once", () => {
  const paths = (result: ReturnType<Scan>) => result.ok ? result.value.map(({ path }) => path) : [];
  assert.deepEqual(paths(scanEnrollAnswer(ENROLLMENT_DOCUMENTS.enroll_answer as JsonValue)), [
    "k3s.token",
    "k3s.agent_token",
    "secrets.hcloud.token",
    "secrets.etcd_s3.access_key",
    "secrets.etcd_s3.secret_key",
  ]);
  const operation = OPERATIONS.operation_cluster_restore;
  assert.deepEqual(
    paths(scanSyncAnswer({ ...SYNC_DOCUMENTS.sync_answer, operation } as JsonValue)),
    [
      "desired.secrets.hcloud.token",
      "desired.secrets.etcd_s3.access_key",
      "desired.secrets.etcd_s3.secret_key",
      "desired.addons[1].secret_options.api_token",
      "desired.host.registries.configs.mirror.example.com.password",
      "operation.params.access_key",
      "operation.params.secret_key",
      "operation.params.token",
    ],
  );
});
