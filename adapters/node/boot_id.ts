/** Where the kernel says which boot this is. */
export const BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id";

/** The UUID in that file; null where there is none. */
export function parseBootId(text: string): string | null {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.exec(text.trim())?.[0] ?? null;
}
