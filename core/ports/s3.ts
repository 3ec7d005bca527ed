/**
 * The bucket that snapshots go to. Nothing uses it yet: `snapshot.save`, `cluster.restore` and
 * `s3.verify` are not implemented, and its calls are designed with them.
 */
export interface S3 {
  /** Names the adapter in messages. */
  readonly name: string;
}
