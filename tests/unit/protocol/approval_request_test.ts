import assert from "node:assert/strict";
import { approvalTexts } from "../../../core/protocol/approval_request.ts";
import { needsApproval } from "../../../core/protocol/approved_operations.ts";
import { firingsInYear } from "../../../core/protocol/cron.ts";

const REQUEST = {
  cluster: "demo",
  node: "demo-1",
  expires: "2026-01-02T12:00:00Z",
  olderRelease: null,
};
const TARGET = { endpoint: "s3.test", bucket: "b-1", region: "eu", folder: "./f//g" };
const BOX = { plain: "secret" };
const desired = (bucket: string, retention: number) => ({
  secrets: { etcd_s3: { ...TARGET, bucket, access_key: BOX, secret_key: BOX } },
  host: { snapshots: { schedule: "0 * * * *", retention, compress: true } },
});

Deno.test("approval texts: a restore from s3 shows the effective bucket, its folder normalised, no secret", () => {
  const operation = {
    id: "op-1",
    kind: "cluster.restore",
    params: { snapshot: "s", from: "s3", token: BOX },
  };
  const made = approvalTexts(operation, { ...REQUEST, accepted: desired("b-1", 9) });
  assert.ok(made.ok);
  assert.deepEqual(made.value, [{
    what: null,
    text: [
      "pbx-approval-v1",
      "cluster: demo",
      "node: demo-1",
      "operation: cluster.restore",
      "id: op-1",
      'params: {"from":"s3","snapshot":"s","token":{"sealed":true}}',
      'bucket: {"bucket":"b-1","endpoint":"s3.test","folder":"f/g","region":"eu"}',
      "expires: 2026-01-02T12:00:00Z",
      "",
    ].join("\n"),
  }]);
});

Deno.test("approval texts: each change of a desired state has its own", () => {
  const made = approvalTexts(desired("b-2", 8), { ...REQUEST, accepted: desired("b-1", 9) });
  assert.ok(made.ok);
  assert.deepEqual(made.value.map(({ what }) => what), ["s3_target", "fewer_snapshots"]);
  assert.match(
    made.value[0]?.text ?? "",
    /\nto: \{"bucket":"b-2","bucket_lookup":"auto","endpoint":"s3.test","endpoint_ca":null,"folder":"f\/g","region":"eu"\}\n/,
  );
  const same = approvalTexts(desired("b-1", 9), { ...REQUEST, accepted: desired("b-1", 9) });
  assert.deepEqual(same, { ok: true, value: [] });
});

Deno.test("approval texts: registries show where images come from, and no secret", () => {
  const before = desired("b-1", 9);
  const registries = {
    mirrors: { "docker.io": { endpoint: ["https://mirror.example.com"] } },
    configs: { "mirror.example.com": { username: "ada", password: BOX } },
  };
  const after = { ...before, host: { ...before.host, registries } };
  const made = approvalTexts(after, { ...REQUEST, accepted: before });
  assert.ok(made.ok);
  assert.deepEqual(made.value, [{
    what: "registries",
    text: [
      "pbx-approval-v1",
      "cluster: demo",
      "node: demo-1",
      "change: registries",
      "from: null",
      'to: {"configs":{"mirror.example.com":{"password":{"sealed":true},"username":"ada"}},' +
      '"mirrors":{"docker.io":{"endpoint":["https://mirror.example.com"]}}}',
      "expires: 2026-01-02T12:00:00Z",
      "",
    ].join("\n"),
  }]);
  const login = { configs: { "ghcr.io": { password: BOX } } };
  const only = { ...before, host: { ...before.host, registries: login } };
  const named = { ...REQUEST, accepted: before, namedRegistries: ["ghcr.io"] };
  assert.deepEqual(approvalTexts(only, named), { ok: true, value: [] });
  assert.deepEqual(approvalTexts(after, { ...REQUEST, accepted: after }), { ok: true, value: [] });
});

Deno.test("approvals: the kinds that need one", () => {
  const always = "cluster.restore server.rejoin node.forget node.reboot snapshot.delete " +
    "access.issue diag.collect";
  for (const kind of always.split(" ")) assert.ok(needsApproval(kind, {}, []), kind);
  assert.ok(needsApproval("access.revoke", { everyone: true }, []));
  assert.ok(!needsApproval("access.revoke", { person: "ada" }, []));
  assert.ok(needsApproval("node.drain", { node: "n", delete_emptydir: true }, []));
  assert.ok(!needsApproval("node.drain", { node: "n", delete_emptydir: false }, []));
  for (const kind of ["snapshot.save", "s3.verify", "constructor"]) {
    assert.ok(!needsApproval(kind, {}, []), kind);
    assert.ok(needsApproval(kind, {}, [kind]), kind);
  }
});

Deno.test("cron: how often a schedule fires in the 365 days from 2026-01-01", () => {
  const times: [string, number][] = [
    ["0 0 * * *", 365],
    ["*/15 * * * *", 365 * 96],
    ["0 */6 * * *", 365 * 4],
    ["0 0 1 * *", 12],
    ["0 0 * * mon", 52],
    // Either day is enough where both are restricted: 12 firsts, 52 Mondays, one of them a first (June).
    ["0 0 1 * 1", 63],
    ["5,5 0 29 2 *", 0],
    ["50/5 0-2 ? jan,FEB *", 2 * 3 * 59],
  ];
  for (const [schedule, count] of times) assert.equal(firingsInYear(schedule), count, schedule);
});
