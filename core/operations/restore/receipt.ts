import * as z from "zod";
import type { Disk, DiskError } from "../../ports/disk.ts";
import { ok, type Result } from "../../result.ts";
import { parseOwned, writeOwned } from "../../state/owner.ts";
import { RESTORE_DIRECTORY } from "../../state/paths.ts";
import { type DatabaseFacts, newIn } from "./database.ts";

/**
 * What the agent writes down once a reset is proven: exit 0, k3s's words and the disk's state, all three.
 * Without it nothing starts k3s after a reset.
 */
const Receipt = z.object({
  operation: z.string(),
  snapshot: z.string(),
  /** The last by their names, by which an earlier version of the agent knows the reset. */
  oldDatabase: z.string().nullable(),
  tlsBackup: z.string().nullable(),
  /**
   * All databases and certificates that were moved aside by the end of the reset: another reset adds one,
   * whatever time the clock shows. Receipts of earlier versions have only the two above.
   */
  oldDatabases: z.array(z.string()).optional(),
  tlsBackups: z.array(z.string()).optional(),
});
type Receipt = z.infer<typeof Receipt>;

const RECEIPT_FILE = `${RESTORE_DIRECTORY}/reset.json`;

/** Writes the receipt, durably. */
export async function writeReceipt(
  disk: Disk,
  operation: string,
  snapshot: string,
  now: DatabaseFacts,
): Promise<Result<void, DiskError>> {
  const { oldDatabases, tlsBackups } = now;
  const receipt: Receipt = { operation, snapshot, ...last(now), oldDatabases, tlsBackups };
  return await writeOwned(disk, RECEIPT_FILE, receipt);
}

/** Whether the database on the disk is the one that this operation's reset was proven for. */
export async function isProven(
  disk: Disk,
  operation: string,
  now: DatabaseFacts,
): Promise<Result<boolean, DiskError>> {
  const read = await disk.read(RECEIPT_FILE);
  if (!read.ok) return read;
  if (read.value === null) return ok(false);
  const receipt = Receipt.safeParse(await parseOwned(disk, read.value));
  return ok(
    receipt.success && receipt.data.operation === operation && now.etcd === "whole" && now.named &&
      isLastReset(receipt.data, now),
  );
}

/** Whether no other reset was made since. */
function isLastReset(receipt: Receipt, now: DatabaseFacts): boolean {
  const { oldDatabases, tlsBackups } = receipt;
  if (oldDatabases === undefined || tlsBackups === undefined) {
    const { oldDatabase, tlsBackup } = last(now);
    return receipt.oldDatabase === oldDatabase && receipt.tlsBackup === tlsBackup;
  }
  return newIn(oldDatabases, now.oldDatabases).length === 0 &&
    newIn(tlsBackups, now.tlsBackups).length === 0;
}

function last({ oldDatabases, tlsBackups }: DatabaseFacts) {
  return { oldDatabase: oldDatabases.at(-1) ?? null, tlsBackup: tlsBackups.at(-1) ?? null };
}
