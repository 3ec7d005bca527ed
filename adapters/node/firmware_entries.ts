import type { Disk } from "../../core/ports/disk.ts";
import { EFIVARS } from "./efi_variable.ts";

/** The firmware's own variables (UEFI, Globally Defined Variables). */
const ENTRY = /^Boot([0-9A-F]{4})-8be4df61-93ca-11d2-aa0d-00e098032b8c$/;
const ORDER = `${EFIVARS}/BootOrder-8be4df61-93ca-11d2-aa0d-00e098032b8c`;

/** The attributes that the kernel puts before a value, then the entry's own and its path's length. */
const VALUE_AT = 4;
const DESCRIPTION_AT = VALUE_AT + 6;
const ACTIVE = 1;

/**
 * Whether the firmware has an active entry for systemd-boot in its boot order: one that is called
 * `Linux Boot Manager`, or whose path leads to systemd-boot. Null where the kernel shows no entry at all.
 */
export async function hasFirmwareEntry(disk: Disk): Promise<boolean | null> {
  const names = await disk.list(EFIVARS);
  const entries = (names.ok ? names.value ?? [] : []).filter((name) => ENTRY.test(name));
  if (entries.length === 0) return null;
  const order = await disk.read(ORDER, 4_096);
  const inOrder = order.ok && order.value !== null ? numbersOf(order.value) : null;
  for (const name of entries) {
    const number = Number.parseInt(ENTRY.exec(name)?.[1] ?? "", 16);
    if (inOrder !== null && !inOrder.includes(number)) continue;
    const file = await disk.read(`${EFIVARS}/${name}`, 16_384);
    if (file.ok && file.value !== null && isSystemdBoot(file.value)) return true;
  }
  return false;
}

function numbersOf(order: Uint8Array): readonly number[] {
  const value = order.subarray(VALUE_AT);
  return Array.from(
    { length: value.length >> 1 },
    (_, index) => (value[2 * index] ?? 0) | (value[2 * index + 1] ?? 0) << 8,
  );
}

/** EFI_LOAD_OPTION: attributes, the path's length, a description that ends in a NUL, the path. */
function isSystemdBoot(file: Uint8Array): boolean {
  if (((file[VALUE_AT] ?? 0) & ACTIVE) === 0) return false;
  // The path's text is found in either alignment: what stands before it has no fixed length.
  const rest = file.subarray(DESCRIPTION_AT);
  const text = utf16(rest);
  return text.startsWith("Linux Boot Manager\0") ||
    [text, utf16(rest.subarray(1))].some((one) => /\\EFI\\systemd\\systemd-boot/i.test(one));
}

function utf16(bytes: Uint8Array): string {
  return new TextDecoder("utf-16le").decode(bytes);
}
