import type { Disk } from "../../core/ports/disk.ts";

/** Where the kernel shows the firmware's variables. */
export const EFIVARS = "/sys/firmware/efi/efivars";

/** The vendor GUID of systemd's boot loader interface. */
const LOADER_GUID = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

/** The attributes, a 32-bit number, that the kernel puts before a variable's value. */
const ATTRIBUTE_BYTES = 4;

/** A boot loader variable: its text, `absent`, or `unreadable` (which casts doubt on all the others). */
export type EfiVariable =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "absent" | "unreadable" };

/** Reads a variable of the boot loader interface: UTF-16LE text that ends in a NUL. */
export async function readLoaderVariable(disk: Disk, name: string): Promise<EfiVariable> {
  const file = await disk.read(`${EFIVARS}/${name}-${LOADER_GUID}`, 4_096);
  if (!file.ok) return { kind: "unreadable" };
  if (file.value === null) return { kind: "absent" };
  const text = decode(file.value.subarray(ATTRIBUTE_BYTES));
  return text === null ? { kind: "unreadable" } : { kind: "text", text };
}

function decode(value: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-16le", { fatal: true, ignoreBOM: true }).decode(value);
    const end = text.indexOf("\0");
    return end > 0 ? text.slice(0, end) : null;
  } catch {
    return null;
  }
}
