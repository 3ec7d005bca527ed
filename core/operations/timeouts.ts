const MINUTE = 60_000;

/** The time limit of every kind of step, milliseconds: one table, so that they can be compared. */
export const TIMEOUT_MS = {
  /** What only touches the agent's own files. */
  local: 2 * MINUTE,
  /** A few calls of the Kubernetes API. */
  kubernetes: 5 * MINUTE,
  /** One listing of a bucket. */
  bucket: 2 * MINUTE,
  /** What the portal has to answer; an outage of it may last. */
  portal: 30 * MINUTE,
} as const;
