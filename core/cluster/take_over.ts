import { skipPath } from "../host/manifests.ts";
import type { Disk, DiskError } from "../ports/disk.ts";
import type { Log } from "../ports/log.ts";
import { ok, type Result } from "../result.ts";
import { writeDocument } from "../state/durable.ts";
import { templateOf, type Templates } from "./requirements.ts";

/**
 * Takes an add-on's first-start manifest from this node's k3s: the file beside it makes k3s leave its
 * objects alone (k3s fact E). Before the API has them in another form, or k3s would undo that; and on
 * every server, because each applies the manifests that it has.
 */
export async function takeOverManifest(
  disk: Disk,
  log: Log,
  templates: Templates,
  addon: string,
): Promise<Result<void, DiskError>> {
  const manifest = templateOf(addon, templates)?.manifest;
  if (manifest === undefined) return ok(undefined);
  const path = skipPath(manifest);
  const there = await disk.stat(path);
  if (!there.ok) return there;
  if (there.value !== null) return ok(undefined);
  const written = await writeDocument(disk, path, new Uint8Array());
  if (!written.ok) return written;
  log.write("info", "manifest_taken_over", `${path} is written: the API manages this add-on now`);
  return ok(undefined);
}
