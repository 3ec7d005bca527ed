import assert from "node:assert/strict";
import {
  type CustodyFacts,
  custodyOf,
  mayWrite,
  otherCluster,
  whyNotAgent,
} from "../../../core/state/custody.ts";

const NOTHING: CustodyFacts = {
  state: { kube_system_uid: null, other_cluster: null },
  hold: null,
  alone: null,
  seen: null,
};
const OWN = { kube_system_uid: "own", other_cluster: null };
const ALONE = { id: "op-1", kind: "cluster.restore", step: "wait_api" };
const held = (cluster: string | null) => ({ why: "op-1 holds k3s", cluster });

/** `agent`, `agent proven`, `operation`, `held` or `<seen> instead of <known>`. */
function decided(facts: Partial<CustodyFacts>): string {
  const custody = custodyOf({ ...NOTHING, ...facts });
  assert.equal(whyNotAgent(custody) === null, custody.who === "agent");
  const other = otherCluster(custody);
  if (other !== null) return `${other.seen} instead of ${other.known}`;
  if (custody.who === "nobody") return custody.reason.kind;
  assert.equal(mayWrite(custody), custody.who === "agent" && custody.cluster === "proven");
  return mayWrite(custody) ? "agent proven" : custody.who;
}

Deno.test("custodyOf: who may act, by what is known, seen, held and under way", () => {
  const rows: readonly (readonly [Partial<CustodyFacts>, string])[] = [
    // Nothing is known yet: k3s may be started, and nothing be written.
    [{}, "agent"],
    [{ seen: "any" }, "agent"],
    [{ state: OWN }, "agent"],
    [{ state: OWN, seen: "own" }, "agent proven"],
    [{ state: OWN, seen: "other" }, "other instead of own"],
    // The last verdict stands until the API shows a UID again.
    [{ state: { ...OWN, other_cluster: "other" } }, "other instead of own"],
    [{ state: { ...OWN, other_cluster: "other" }, seen: "own" }, "agent proven"],
    [{ state: { ...OWN, other_cluster: "other" }, seen: "third" }, "third instead of own"],
    // A restore has proven the cluster that was another one before.
    [{ state: { ...OWN, other_cluster: "own" } }, "agent"],
    [{ state: OWN, hold: held(null) }, "held"],
    [{ state: OWN, hold: held("own"), seen: "own" }, "held"],
    [{ state: OWN, hold: held("own"), seen: "other" }, "other instead of own"],
    // An agent that has lost its state has what the hold says.
    [{ hold: held("own"), seen: "other" }, "other instead of own"],
    [{ hold: held("own") }, "held"],
    [{ hold: held(null), seen: "other" }, "held"],
    // What the state knows was proven; what a hold names is only to come.
    [{ state: OWN, hold: held("wanted"), seen: "wanted" }, "wanted instead of own"],
    [{ state: OWN, alone: ALONE, seen: "own" }, "operation"],
    [{ state: OWN, alone: ALONE, seen: "other" }, "operation"],
    [{ state: OWN, alone: ALONE, hold: held("own") }, "operation"],
    [{ state: { ...OWN, other_cluster: "other" }, alone: { ...ALONE, step: null } }, "operation"],
  ];
  for (const [facts, wanted] of rows) {
    assert.equal(decided(facts), wanted, JSON.stringify(facts));
  }
});

Deno.test("whyNotAgent: names the operation, the hold, or both UIDs", () => {
  const why = (facts: Partial<CustodyFacts>) => whyNotAgent(custodyOf({ ...NOTHING, ...facts }));
  assert.match(why({ alone: ALONE }) ?? "", /cluster\.restore op-1 is under way/);
  assert.match(why({ hold: held(null) }) ?? "", /held: op-1 holds k3s/);
  assert.match(why({ state: OWN, seen: "other" }) ?? "", /UID other, and this node's.* own$/);
});
