/** `+3-1` before the ending: tries left and done, which the boot loader keeps in the file's name. */
const COUNTER = /\+[0-9]+(?:-[0-9]+)?(?=\.efi$)/;

/** What an entry ID may look like before it is believed: it goes into reports and comparisons. */
const ENTRY_ID = /^[a-z0-9._+-]{1,200}$/;

/** The name of an image as release builds give it. */
const PBX_IMAGE = /^pbx-(.+)-(?:amd64|arm64)\.efi$/;

/** The entry ID of a file name: lower case, without a counter (boot facts, Entry ids). Null for none. */
export function entryId(fileName: string): string | null {
  const id = fileName.toLowerCase().replace(COUNTER, "");
  return ENTRY_ID.test(id) ? id : null;
}

/**
 * The entry ID of the image that the boot stub names, for example `\EFI\Linux\pbx-1.4.0-amd64.efi`.
 * Null for an image elsewhere: it is no entry of the boot loader.
 */
export function entryOfStub(identifier: string): string | null {
  const [file = "", ...folders] = identifier.split(/[\\/]/).filter((part) => part !== "").reverse();
  return folders.reverse().join("/").toLowerCase() === "efi/linux" ? entryId(file) : null;
}

/**
 * Whether an entry can be the image of this version (IMAGE_VERSION of os-release). Release builds map
 * a version to lower case and anything outside `[a-z0-9.-]` to `-`.
 */
export function entryHasVersion(entry: string, version: string): boolean {
  const mapped = version.toLowerCase().replace(/[^a-z0-9.-]/g, "-");
  const named = PBX_IMAGE.exec(entry)?.[1];
  if (named !== undefined) return named === mapped;
  return `-${entry.replace(/\.efi$/, "")}-`.includes(`-${mapped}-`);
}

/** IMAGE_VERSION of an os-release file; null where it has none. */
export function imageVersion(osRelease: string): string | null {
  const value = /^IMAGE_VERSION=(.*)$/m.exec(osRelease)?.[1]?.trim() ?? "";
  const unquoted = /^(["'])(.*)\1$/.exec(value)?.[2] ?? value;
  return unquoted === "" ? null : unquoted;
}
