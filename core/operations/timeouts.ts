const MINUTE = 60_000;

/** The time limit of every kind of step, milliseconds: one table, so that they can be compared. */
export const TIMEOUT_MS = {
  /** What only touches the agent's own files. */
  local: 2 * MINUTE,
  /** A few calls of the Kubernetes API. */
  kubernetes: 5 * MINUTE,
  /** One listing of a bucket. */
  bucket: 2 * MINUTE,
  /** k3s takes and uploads a snapshot; another one of its own may be under way before. */
  snapshotSave: 30 * MINUTE,
  /** The bucket shows an upload; it may be done some time after k3s gave up waiting for it. */
  snapshotConfirm: 15 * MINUTE,
  /** A snapshot is fetched and looked at while the cluster still runs, then k3s is stopped. */
  restoreStop: 180 * MINUTE,
  /** k3s makes the database anew, and is never ended in the middle by the agent. */
  restoreReset: 180 * MINUTE,
  /** systemd is told to start a unit. */
  unitStart: 5 * MINUTE,
  /** The API of a restored cluster is up and proven. */
  restoreApi: 20 * MINUTE,
  /** Nodes have two minutes to show that they are there; the API may be slow. */
  restoreNodes: 15 * MINUTE,
  /** k3s ends, after a look at the cluster. */
  rejoinStop: 15 * MINUTE,
  /** A look at the cluster, then a move and a removal of files. */
  rejoinWipe: 15 * MINUTE,
  /** A database is filled over the network, and k3s comes up on it. */
  rejoinApi: 30 * MINUTE,
  /** Longer than any drain may be told to take: it keeps its own deadline. */
  drain: 26 * 60 * MINUTE,
  /** The portal may keep the manifest for a while, and a bucket is asked. */
  upgradePreflight: 10 * MINUTE,
  /** A snapshot is taken and confirmed, as by the operation for that. */
  upgradeSnapshot: 45 * MINUTE,
  /** An image of some hundred megabytes, over a line that breaks. */
  upgradeFetch: 180 * MINUTE,
  /** An image is read back and gets its name. */
  upgradeStage: 15 * MINUTE,
  /** Services stop; what does not is ended by systemd. */
  upgradeReboot: 20 * MINUTE,
  /** Twenty minutes of the new image, and a return that is slow. */
  upgradeGate: 60 * MINUTE,
  /** The boot loader may refuse for a while to keep what passed its gate. */
  upgradeCommit: 20 * MINUTE,
  /** What the portal has to answer; an outage of it may last. */
  portal: 30 * MINUTE,
} as const;
