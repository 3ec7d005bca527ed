import * as z from "zod";

/**
 * Which files carried a snapshot's name before k3s was asked for one, and what each place showed of them.
 * Whatever carries the name and is not among them is the operation's own, whatever time its name says:
 * the clock of the node may be set while k3s takes the snapshot.
 */
export const SnapshotsBefore = z.object({
  /**
   * By file name. `local`: size and time of the copy on the node; `s3`: ETag (or size and time) of the
   * object. A place that did not have the file has no member.
   */
  files: z.record(z.string(), z.record(z.string(), z.string())),
  /** Whether the bucket told all that it had. */
  bucket_listed: z.boolean(),
});
export type SnapshotsBefore = z.infer<typeof SnapshotsBefore>;

/** The member of `journal.handed` that has them, so that a repeat after a crash finds the first list. */
export const BEFORE_MEMBER = "snapshots_before";

/** Tells one copy of a snapshot from another one of the same file name. */
export function localPrint(stat: { readonly size: number; readonly modifiedAt: number }): string {
  return `${stat.size} ${stat.modifiedAt}`;
}

/** The same of an object in the bucket. */
export function objectPrint(
  object: { readonly size: number; readonly etag: string; readonly modifiedAt: number },
): string {
  return object.etag === "" ? localPrint(object) : object.etag;
}

/**
 * Whether a copy on the node came since. A clock that was set back can give a snapshot the file name of an
 * older one, which k3s overwrites: then the copy shows another size or time.
 *
 * @param before null where every file of the name is the operation's own
 */
export function isNewOnNode(before: SnapshotsBefore | null, file: string, print: string): boolean {
  return before?.files[file]?.["local"] !== print;
}

/**
 * Whether an object came into the bucket since.
 *
 * @param newOnNode files that are known to be the operation's own by what the node shows
 */
export function isNewInBucket(
  before: SnapshotsBefore | null,
  file: string,
  print: string,
  newOnNode: readonly string[],
): boolean {
  if (before === null) return true;
  const then = before.files[file];
  if (then?.["s3"] !== undefined) return then["s3"] !== print;
  if (then === undefined) return before.bucket_listed || newOnNode.includes(file);
  // Only the node had it: this is the late upload of the older one, unless k3s has overwritten that.
  return before.bucket_listed && newOnNode.includes(file);
}

/** Whether what k3s tells of a file can be about the operation's own snapshot. */
export function mayBeToldOf(
  before: SnapshotsBefore | null,
  file: string,
  newOnNode: readonly string[],
): boolean {
  return before?.files[file] === undefined || newOnNode.includes(file);
}
