import { imageFolder } from "../../host/slots.ts";
import type { Ports } from "../../ports/mod.ts";
import { fail, ok, type Result } from "../../result.ts";
import { dropParts } from "./fetch_image.ts";

/**
 * Takes away an image that was not proven, so that nothing starts it and the next upgrade has its room.
 * One that runs, or that is the default, stays. Can be repeated; the error is for people.
 */
export async function dropImage(
  { boot, disk }: Pick<Ports, "boot" | "disk">,
  entry: string,
): Promise<Result<void, string>> {
  const [view, booted] = [await boot.look(), await boot.booted()];
  if (!view.ok) return fail(view.error.message);
  if (booted.entry === null || booted.entry === entry || view.value.default === entry) {
    return ok(undefined);
  }
  if (view.value.oneShot === entry) {
    const cleared = await boot.setOneShot(null);
    if (!cleared.ok) return fail(cleared.error.message);
  }
  const folder = imageFolder(view.value.esp);
  const removed = await disk.remove(`${folder}/${entry}`);
  if (!removed.ok) return fail(removed.error.message);
  await dropParts(disk, view.value);
  const synced = await disk.syncDirectory(folder);
  return synced.ok ? ok(undefined) : fail(synced.error.message);
}
