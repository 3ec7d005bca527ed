import assert from "node:assert/strict";
import { type Expected, snapshotFindings } from "../../../../core/operations/restore/check.ts";
import { saysResetDone, whyResetFailed } from "../../../../core/operations/restore/k3s_words.ts";
import { nodeLives, staleNodes } from "../../../../core/operations/restore/stale_nodes.ts";
import { withToken } from "../../../../core/operations/restore/write_token.ts";
import type { SnapshotFacts } from "../../../../core/ports/snapshot_file.ts";
import { Secret } from "../../../../core/secret.ts";

const FACTS: SnapshotFacts = {
  kind: "plain",
  size: 1,
  plainSize: 1,
  tokenHashes: ["aaaaaaaaaaaa", "bbbbbbbbbbbb"],
  k3sVersions: ["v1.36.2+k3s1", "v1.36.3+k3s1"],
  texts: ["uid"],
};
const EXPECTED: Expected = {
  k3sVersion: "v1.36.3+k3s1",
  tokenHash: "bbbbbbbbbbbb",
  tokenIsGiven: false,
  toldHash: null,
  uid: "uid",
};

Deno.test("snapshotFindings: only what is known can be against a snapshot", () => {
  const none = { ...FACTS, tokenHashes: [], k3sVersions: [], texts: [] };
  const cases: readonly (readonly [Partial<SnapshotFacts>, Partial<Expected>, RegExp | null])[] = [
    [{}, {}, null],
    [none, { uid: null }, null],
    [none, { uid: null, toldHash: "bbbbbbbbbbbb" }, null],
    [none, { uid: null, toldHash: "cccccccccccc" }, /this node's token .* is not the snapshot's/],
    // What is in the file counts more than what k3s tells of it.
    [{}, { toldHash: "cccccccccccc" }, null],
    [{}, { tokenHash: "cccccccccccc", tokenIsGiven: true }, /^the given token/],
    [{}, { tokenHash: null, k3sVersion: null }, null],
    [{}, { k3sVersion: "v1.36.2+k3s9" }, /older than the snapshot's v1\.36\.3\+k3s1/],
    [{}, { k3sVersion: "v1.37.0+k3s1" }, null],
    [{}, { uid: "other" }, /of another cluster/],
  ];
  for (const [facts, expected, words] of cases) {
    const found = snapshotFindings({ ...FACTS, ...facts }, { ...EXPECTED, ...expected });
    if (words === null) assert.deepEqual(found, []);
    else assert.match(found.join("|"), words);
  }
});

for (const name of ["reset_done", "reset_wrong_token"]) {
  Deno.test(`saysResetDone: the output of a real k3s, ${name}`, async () => {
    const file = new URL(`../../../../fixtures/k3s/${name}.stderr.txt`, import.meta.url);
    const lines = (await Deno.readTextFile(file)).split("\n");
    assert.equal(lines.filter(saysResetDone).length, name === "reset_done" ? 1 : 0);
    if (name === "reset_done") return;
    const why = whyResetFailed(lines.join("\n"));
    assert.match(why, /^the token is not the one that the snapshot's cluster had \(time=.*fatal/);
  });
}

Deno.test("whyResetFailed: last words where the cause is not known, and none for silence", () => {
  assert.equal(
    whyResetFailed("level=info\nError: something new\nlevel=info"),
    "Error: something new",
  );
  assert.equal(whyResetFailed("only this"), "only this");
  assert.equal(whyResetFailed(""), "it said nothing");
});

Deno.test("staleNodes: known before, and no renewal since", () => {
  const node = (name: string, uid = name) => ({ metadata: { name, uid } });
  const lease = (name: string, renewTime: string) => ({ metadata: { name }, spec: { renewTime } });
  const before = nodeLives([node("gone"), node("alive"), node("bare"), node("other", "first")], [
    lease("gone", "1"),
    lease("alive", "1"),
    lease("other", "1"),
  ]);
  const now = nodeLives(
    [node("gone"), node("alive"), node("bare"), node("other", "second"), node("new")],
    [lease("gone", "1"), lease("alive", "2"), lease("other", "1")],
  );
  assert.deepEqual(staleNodes(before, now).map(({ name }) => name), ["gone", "bare"]);
});

Deno.test("withToken: one token in the file, the rest of it as it was", () => {
  const token = new Secret('a "new": #token');
  const text = withToken("# ours\ntoken: old # this one\ntls-san: [a, b]\nt: short\n", token)
    ?.reveal();
  assert.equal(text, '# ours\ntoken: "a \\"new\\": #token"\ntls-san: [ a, b ]\n');
  assert.equal(withToken("", token)?.reveal(), 'token: "a \\"new\\": #token"\n');
  assert.equal(withToken("- a\n", token), null);
  assert.equal(withToken("a: [\n", token), null);
});
