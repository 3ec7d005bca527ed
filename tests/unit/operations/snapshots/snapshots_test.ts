import assert from "node:assert/strict";
import { describeSave, judgeSave } from "../../../../core/operations/snapshots/judge_save.ts";
import {
  judgeUpload,
  type UploadFacts,
} from "../../../../core/operations/snapshots/judge_upload.ts";
import { namedTime } from "../../../../core/operations/snapshots/snapshot_name.ts";
import {
  type SnapshotResource,
  snapshotResource,
} from "../../../../core/operations/snapshots/snapshot_resource.ts";
import { fail, ok } from "../../../../core/result.ts";
import resources from "../../../../fixtures/k3s/snapshot_resources.json" with { type: "json" };

const FILE = "pbx-1-node-1-1795965024";
const COPY = { file: FILE, size: 100, namedTime: 1_795_965_024 };
const TOLD: SnapshotResource = {
  file: FILE,
  location: "s3",
  size: 100,
  createdAt: "2026-11-29T15:10:24Z",
  error: null,
  tokenHash: null,
};
const NO_UPLOAD = { ...TOLD, size: null, error: "connection reset" };
const error = (code: "denied" | "unreachable" | "wrong_keys") => ({ code, message: "words" });

/** What is known, and what it means. */
const UPLOADS: readonly (readonly [string, Partial<UploadFacts>, RegExp])[] = [
  ["bucket and k3s agree", { bucket: [COPY], resources: [TOLD] }, /^confirmed/],
  [
    "only the local copy is told",
    { bucket: [COPY], resources: [{ ...TOLD, location: "local" }] },
    /^confirmed/,
  ],
  ["k3s tells nothing, the file is there", { bucket: [COPY], local: [COPY] }, /^confirmed/],
  ["an upload that k3s calls failed is there", {
    bucket: [COPY],
    local: [COPY],
    resources: [NO_UPLOAD],
  }, /^confirmed/],
  ["k3s tells of it, the bucket has nothing", { resources: [TOLD] }, /^waits .*does not have it/],
  ["nobody tells its size", { bucket: [COPY] }, /^waits .*does not tell the size/],
  [
    "sizes differ",
    { bucket: [{ ...COPY, size: 99 }], resources: [TOLD] },
    /^waits .*99 bytes.*100/,
  ],
  ["an empty object", { bucket: [{ ...COPY, size: 0 }], resources: [TOLD] }, /^waits .*empty/],
  [
    "a failed upload",
    { local: [COPY], resources: [NO_UPLOAD] },
    /^failed upload_failed .*connection reset/,
  ],
  ["a bucket out of reach", { bucket: error("unreachable") }, /^waits .*words/],
  ["a bucket that refuses", { bucket: error("denied") }, /^failed denied .*words/],
  ["wrong keys", { bucket: error("wrong_keys"), local: [COPY] }, /^failed wrong_keys/],
];

for (const [what, facts, end] of UPLOADS) {
  Deno.test(`judgeUpload: ${what}`, () => {
    const upload = judgeUpload({ bucket: [], local: [], resources: [], ...facts });
    const code = upload.kind === "failed" ? upload.code : "";
    assert.match(`${upload.kind} ${code} ${"why" in upload ? upload.why : ""}`, end);
  });
}

Deno.test("namedTime: only snapshots of the name on this node, whatever their time", () => {
  const of = { name: "pbx-1", nodes: ["node-1", "host"] };
  const cases: readonly (readonly [string, number | null])[] = [
    ["pbx-1-node-1-1795965024", 1_795_965_024],
    ["pbx-1-host-1795965024.zip", 1_795_965_024],
    ["pbx-1-node-2-1795965024", null],
    ["pbx-1-node-1-12", 12],
    ["pbx-1-node-1-1795965024.zip.part", null],
    ["pbx-1-node-1-", null],
    ["pbx-11-node-1-1795965024", null],
    ["xpbx-1-node-1-1795965024", null],
    ["pbx-1-node-1-more-1795965024", null],
  ];
  for (const [file, at] of cases) assert.equal(namedTime(file, of), at, file);
});

Deno.test("snapshotResource: what a real k3s tells, and what names no snapshot", () => {
  const [first] = resources.items;
  assert.ok(first !== undefined);
  assert.deepEqual(snapshotResource(first), {
    file: "pbx-op_snapshot_01-orchard-1-1795965024",
    location: "local",
    size: 495_648,
    createdAt: "2026-11-29T15:10:24Z",
    error: null,
    tokenHash: "3d662a02cfb6",
  });
  assert.equal(snapshotResource({}), null);
  const failed = { spec: { snapshotName: "a", s3: {} }, status: { error: {}, size: "0" } };
  assert.deepEqual([snapshotResource(failed)?.location, snapshotResource(failed)?.size], [
    "s3",
    null,
  ]);
});

Deno.test("judgeSave: an exit only tells how long to look", () => {
  const exit = (code: number, output: string) => ok({ code, signal: null, output });
  const timeout = fail({ code: "timeout", program: "/k3s", message: "too long" } as const);
  assert.equal(judgeSave(exit(0, "Snapshot x saved.")), "saved");
  assert.equal(judgeSave(exit(1, "Error: no")), "failed");
  assert.equal(judgeSave(exit(1, "Error: snapshot save already in progress")), "busy");
  assert.equal(judgeSave(exit(1, "Post: context deadline exceeded")), "timeout");
  assert.equal(judgeSave(timeout), "timeout");
  assert.equal(judgeSave(fail({ ...timeout.error, code: "missing" })), "failed");
  assert.equal(describeSave(exit(1, "a\nError: no\n")), "k3s ended with 1: Error: no");
  assert.equal(
    describeSave(ok({ code: null, signal: "SIGKILL", output: "" })),
    "k3s was ended by SIGKILL and said nothing",
  );
  assert.equal(describeSave(timeout), "too long");
});
