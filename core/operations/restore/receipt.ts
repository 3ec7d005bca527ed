import * as z from "zod";
import type { Disk, DiskError } from "../../ports/disk.ts";
import { ok, type Result } from "../../result.ts";
import { writeDocument } from "../../state/durable.ts";
import { RESTORE_DIRECTORY } from "../../state/paths.ts";
import type { DatabaseFacts } from "./database.ts";

/**
 * What the agent writes down once a reset is proven: exit 0, k3s's words and the disk's state, all three.
 * Without it nothing starts k3s after a reset.
 */
const Receipt = z.object({
  operation: z.string(),
  snapshot: z.string(),
  /** The newest database and certificates that were moved aside: which reset this is about. */
  oldDatabase: z.string().nullable(),
  tlsBackup: z.string().nullable(),
});

const RECEIPT_FILE = `${RESTORE_DIRECTORY}/reset.json`;

/** Writes the receipt, durably. */
export async function writeReceipt(
  disk: Disk,
  operation: string,
  snapshot: string,
  now: DatabaseFacts,
): Promise<Result<void, DiskError>> {
  const receipt = { operation, snapshot, ...newest(now) };
  return await writeDocument(disk, RECEIPT_FILE, new TextEncoder().encode(JSON.stringify(receipt)));
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
  const receipt = Receipt.safeParse(parsed(read.value));
  const { oldDatabase, tlsBackup } = newest(now);
  return ok(
    receipt.success && receipt.data.operation === operation && now.etcd === "whole" && now.named &&
      receipt.data.oldDatabase === oldDatabase && receipt.data.tlsBackup === tlsBackup,
  );
}

function newest({ oldDatabases, tlsBackups }: DatabaseFacts) {
  return { oldDatabase: oldDatabases.at(-1) ?? null, tlsBackup: tlsBackups.at(-1) ?? null };
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}
