import type { z } from "zod";
import type { Disk, DiskError } from "../ports/disk.ts";
import type { Result } from "../result.ts";
import { type Found, readDocument, writeDocument } from "./durable.ts";
import { loadIdentity } from "./identity.ts";
import { jsonBytes, jsonParser, otherOwner, type Owner, stamp } from "./json_document.ts";
import { readOnlyDisk } from "./read_only_disk.ts";

/** Whose the files on a disk are, by its identity.json. Writes nothing. */
export async function ownerOf(disk: Disk): Promise<Owner> {
  const file = await loadIdentity(readOnlyDisk(disk));
  if (!file.ok) return undefined;
  // Gone, beside younger files, it was lost and may come back: nothing is judged without it.
  return file.value.kind === "loaded" ? file.value.value.binding?.agent_id ?? null : undefined;
}

/** Reads one of the agent's own JSON files; that of another agent is unreadable. */
export async function readOwned<T extends { readonly format: number }>(
  disk: Disk,
  path: string,
  schema: z.ZodType<T>,
): Promise<Result<Found<Omit<T, "format">>, DiskError>> {
  return await readDocument(disk, path, jsonParser(schema, await ownerOf(disk)));
}

/** Writes one of the agent's own JSON files, durably, with the agent that it belongs to. */
export async function writeOwned(
  disk: Disk,
  path: string,
  document: object,
): Promise<Result<void, DiskError>> {
  return await writeDocument(disk, path, jsonBytes({ ...document, ...stamp(await ownerOf(disk)) }));
}

/** What a small JSON file holds; null where it is no JSON or belongs to another agent. */
export async function parseOwned(disk: Disk, bytes: Uint8Array): Promise<unknown> {
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
  return otherOwner(document, await ownerOf(disk)) === null ? document : null;
}
