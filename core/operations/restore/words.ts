import { K3S_DATABASE_DIRECTORY, K3S_HOLD_FILE, K3S_UNIT } from "../../state/paths.ts";
import { type DatabaseFacts, judgeReset, type ResetState } from "./database.ts";
import { oldData, type Origin } from "./origin.ts";

const SHOWN: Readonly<Record<Exclude<ResetState, "untouched">, string>> = {
  emptied: "the old database was moved aside and nothing whole is in its place",
  unnamed: "the snapshot was written to the disk, but k3s was not done making it its database",
  no_certificates: "the snapshot was written to the disk, but k3s did not take the cluster's " +
    "certificates out of it: it was cut short, or the token is not the snapshot's",
  reset: "it looks complete, but nobody saw k3s say so",
};

/**
 * In what state a restore left the node, which files hold the old data and what can be done: the words
 * that an operator reads when a restore failed after k3s was stopped.
 *
 * @param origin what the node showed when k3s last ran; another than `before` where restores that failed
 *   came in between
 */
export function stateOfNode(
  before: DatabaseFacts,
  now: DatabaseFacts,
  origin: Origin,
): string {
  const reset = judgeReset(before, now);
  // Untouched by this restore is no database to start k3s on where one before it left half of one.
  const state = reset === "untouched" ? judgeReset(origin, now) : reset;
  const held = `k3s is stopped and held (${K3S_HOLD_FILE}), a reboot does not start it`;
  if (state === "untouched") {
    return `the database was not touched: it is in ${K3S_DATABASE_DIRECTORY}/etcd as it was; ${held}. ` +
      "A new cluster.restore may follow. To run the cluster as it was instead: remove " +
      `${K3S_HOLD_FILE}, then systemctl start ${K3S_UNIT}`;
  }
  const folder = oldData(origin, now);
  const old = folder !== null
    ? `the old data is whole in ${folder}`
    : origin.etcd === "whole"
    ? `the old data is not in ${K3S_DATABASE_DIRECTORY} any more`
    : "there was no database before";
  return `${
    SHOWN[state]
  }; ${old}; ${held}. Do not start k3s by hand: it could come up with an empty ` +
    "database. A new cluster.restore may follow, of this snapshot or another one";
}
