import type { DiskError } from "../../ports/disk.ts";
import type { Ports } from "../../ports/mod.ts";
import { ok, type Result } from "../../result.ts";
import type { KnownSnapshot } from "../../state/snapshot_record.ts";

/**
 * What the record keeps of a snapshot's file on the node. Null where there is no file of that size, or
 * where it changed while it was read.
 *
 * @param size bytes of the whole file, by k3s's word
 */
export async function hashSnapshot(
  { disk, clock }: Pick<Ports, "disk" | "clock">,
  directory: string,
  { file, size }: { readonly file: string; readonly size: number },
): Promise<Result<KnownSnapshot | null, DiskError>> {
  const path = `${directory}/${file}`;
  const before = await disk.stat(path);
  if (!before.ok) return before;
  if (before.value?.kind !== "file" || before.value.size !== size) return ok(null);
  const hash = await disk.sha256(path);
  if (!hash.ok) return hash;
  const after = await disk.stat(path);
  if (!after.ok) return after;
  const { modifiedAt } = before.value;
  const isSame = after.value?.size === size && after.value.modifiedAt === modifiedAt;
  if (hash.value === null || !isSame) return ok(null);
  return ok({
    name: file,
    size,
    sha256: hash.value,
    modified_ms: modifiedAt,
    noted_ms: Math.floor(clock.now()),
  });
}
