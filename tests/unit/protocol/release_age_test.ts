import assert from "node:assert/strict";
import {
  afterRun,
  afterVerified,
  type AgeFacts,
  judgeAge,
  type ReleaseAge,
} from "../../../core/protocol/release_age.ts";

const NOW = Date.parse("2026-06-01T00:00:00Z");
const FACTS: AgeFacts = {
  memory: { floor: 3, newest: { sequence: 7, version: "1.7.0" } },
  unknown: null,
  latest: NOW,
  isInUse: false,
  needsApproval: false,
  isApproved: false,
};

const release = (sequence: number | undefined, more: Partial<ReleaseAge> = {}): ReleaseAge => ({
  version: "1.0.0",
  ...(sequence === undefined ? {} : { sequence }),
  ...more,
});

/** The verdict in one word: accepted, older (accepted as such), or the code of the refusal. */
function verdict(age: ReleaseAge, change: Partial<AgeFacts> = {}): string {
  const judged = judgeAge(age, { ...FACTS, ...change });
  if (judged.kind === "refused") return judged.code;
  return judged.older === null ? "accepted" : "older";
}

Deno.test("judgeAge: downgrade, freeze and floor, with the owner's keys and without", () => {
  const past = "2026-05-31T23:59:59Z";
  const future = "2026-06-01T00:00:01Z";
  for (
    const [age, open, owned, approved] of [
      [release(7), "accepted", "accepted", "accepted"],
      [release(8), "accepted", "accepted", "accepted"],
      [release(6), "older", "release_older", "older"],
      [release(3), "older", "release_older", "older"],
      // Nothing brings back what is below the floor.
      [release(2), "release_below_minimum", "release_below_minimum", "release_below_minimum"],
      [release(undefined), ...Array(3).fill("release_below_minimum")],
      [release(8, { expires_at: past }), ...Array(3).fill("release_expired")],
      [release(6, { expires_at: past }), ...Array(3).fill("release_expired")],
      [release(8, { expires_at: future }), "accepted", "accepted", "accepted"],
    ] as [ReleaseAge, string, string, string][]
  ) {
    const said = JSON.stringify(age);
    assert.equal(verdict(age), open, said);
    assert.equal(verdict(age, { needsApproval: true }), owned, said);
    assert.equal(verdict(age, { needsApproval: true, isApproved: true }), approved, said);
  }
});

Deno.test("judgeAge: what runs stays, however long ago it expired, but not below the floor", () => {
  const expired = { expires_at: "2020-01-01T00:00:00Z" };
  assert.equal(verdict(release(7, expired), { isInUse: true }), "accepted");
  assert.equal(verdict(release(2, expired), { isInUse: true }), "release_below_minimum");
});

Deno.test("judgeAge: a node that remembers nothing takes the first release", () => {
  assert.equal(verdict(release(undefined), { memory: { floor: 0, newest: null } }), "accepted");
});

Deno.test("judgeAge: where what the node runs is out of reach, nothing is known to be as new", () => {
  const facts = { memory: { floor: 3, newest: null }, unknown: "1.7.0" };
  assert.equal(verdict(release(9), facts), "older");
  assert.equal(verdict(release(9), { ...facts, needsApproval: true }), "release_older");
  assert.equal(verdict(release(2), facts), "release_below_minimum");
  // Once something is known, it counts.
  assert.equal(verdict(release(9), { unknown: "1.7.0" }), "accepted");
});

Deno.test("release memory: the floor only rises, and the newest with what runs", () => {
  const fresh = { floor: 0, newest: null };
  const given = release(4, { minimum: { sequence: 2 } });
  // What is only fetched says nothing about which one the node was given first.
  assert.deepEqual(afterVerified(fresh, given, null), { floor: 2, newest: null });
  const first = afterVerified(fresh, given, given);
  assert.deepEqual(first, { floor: 2, newest: { sequence: 4, version: "1.0.0" } });
  // Verified is not accepted: only its minimum counts.
  const newer = release(9, { minimum: { sequence: 5 } });
  const offered = afterVerified(first, newer, newer);
  assert.deepEqual(offered, { floor: 5, newest: { sequence: 4, version: "1.0.0" } });
  const old = release(3, { minimum: { sequence: 1 } });
  assert.equal(afterVerified(offered, old, old), offered);
  assert.deepEqual(afterRun(offered, release(9)).newest, { sequence: 9, version: "1.0.0" });
  assert.equal(afterRun(offered, release(3)), offered);
  assert.equal(afterRun(offered, release(4)), offered);
});
