import type { Disk, DiskError } from "../ports/disk.ts";
import { ok, type Result } from "../result.ts";
import { SYSTEMD_DIRECTORY } from "./paths.ts";

const LINKS = `${SYSTEMD_DIRECTORY}/timers.target.wants`;

/**
 * Makes the links last by which a boot starts timers: systemctl does not sync those that it makes and
 * removes. Without the folder there is no link.
 */
export async function syncTimerLinks(disk: Disk): Promise<Result<void, DiskError>> {
  const there = await disk.stat(LINKS);
  if (!there.ok) return there;
  return there.value === null ? ok(undefined) : await disk.syncDirectory(LINKS);
}
