/**
 * What k3s prints when it has reset the cluster (k3s fact D). The line is one of level error, and not the
 * last one.
 */
const RESET_DONE =
  "Managed etcd cluster membership has been reset, restart without --cluster-reset";

/** Whether a line of k3s's says that the reset is done. */
export function saysResetDone(line: string): boolean {
  return line.includes(RESET_DONE);
}

/** Causes that k3s names, in words that say what to do. */
const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/encrypted with different token/, "the token is not the one that the snapshot's cluster had"],
  [/no space left on device/, "the disk is full"],
  [/address already in use/, "another k3s runs on this node"],
  [/server URL is set/, "k3s's configuration has a server to join"],
  [/snapshot (?:missing hash|path does not exist)|checksum/, "k3s does not take the snapshot"],
];

/** Why a reset failed, as far as its output tells; its last words where that names no known cause. */
export function whyResetFailed(output: string): string {
  const lines = output.trim().split("\n");
  const fatal = lines.findLast((line) => /level=fatal|^Error: |level=error/.test(line)) ??
    lines.at(-1);
  const words = (fatal ?? "").slice(-500);
  const cause = CAUSES.find(([pattern]) => pattern.test(output))?.[1];
  if (words === "") return cause ?? "it said nothing";
  return cause === undefined ? words : `${cause} (${words})`;
}
