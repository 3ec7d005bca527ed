import { isJsonObject } from "../../core/json.ts";
import type { BootEntry } from "../../core/ports/boot.ts";
import { entryId } from "./boot_entry.ts";

/** What `bootctl status` tells of the ways from the firmware to systemd-boot. */
export interface BootPaths {
  /** Null where it says nothing of the firmware's entries. */
  readonly firmwareEntry: boolean | null;
  readonly fallbackLoader: boolean;
}

/** What firmware starts from `EFI/BOOT`. */
const FALLBACK = /^boot(?:x64|aa64)\.efi$/;

/**
 * Reads `bootctl status`. Its text differs between versions in places, not in the sections that are
 * needed: the firmware's entries, and the loaders on the ESP with what each of them is.
 *
 * @param fallbackFiles the names in `EFI/BOOT`: what the text says of one counts, where it says nothing the
 * file does
 */
export function parseBootPaths(status: string, fallbackFiles: readonly string[]): BootPaths {
  const available = section(status, "Available Boot Loaders on ESP:");
  const loaders = available.flatMap((line) => {
    const [, file, product] = /[─-](\/\S+)(?: \((.*)\))?$/.exec(line) ?? [];
    return file === undefined ? [] : [{ file: inEsp(file), product: product ?? "" }];
  });
  const isThere = (file: string) => loaders.some((loader) => loader.file === file);
  const listed = section(status, "Boot Loaders Listed in EFI Variables:");
  return {
    firmwareEntry: listed.length === 0
      ? null
      : firmwareEntries(listed).some(({ file, isInOrder }) =>
        isInOrder && file.startsWith("efi/systemd/") && (loaders.length === 0 || isThere(file))
      ),
    fallbackLoader: fallbackFiles.map((name) => name.toLowerCase()).some((name) => {
      const told = loaders.find(({ file }) => file === `efi/boot/${name}`);
      return FALLBACK.test(name) && (told === undefined || told.product.startsWith("systemd-boot"));
    }),
  };
}

/** The lines below a heading, up to the next one. */
function section(status: string, heading: string): readonly string[] {
  const lines = status.split("\n").map((line) => line.trimEnd());
  const start = lines.indexOf(heading);
  if (start < 0) return [];
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => /^\S/.test(line));
  return end < 0 ? rest : rest.slice(0, end);
}

/** The path in lower case from `EFI/` on: some versions print the mount point before it. */
function inEsp(file: string): string {
  const lower = file.toLowerCase().replaceAll(/\/+/g, "/");
  const at = lower.lastIndexOf("/efi/systemd/") >= 0
    ? lower.lastIndexOf("/efi/systemd/")
    : lower.lastIndexOf("/efi/boot/");
  return at < 0 ? lower : lower.slice(at + 1);
}

function firmwareEntries(lines: readonly string[]): { file: string; isInOrder: boolean }[] {
  const found: { file: string; isInOrder: boolean }[] = [];
  let isInOrder = false;
  for (const line of lines) {
    const status = /^\s*Status: (.*)$/.exec(line)?.[1];
    if (status !== undefined) isInOrder = status === "active, boot-order";
    const file = /^\s*File: \S*?[─-](\/\S+)$/.exec(line)?.[1];
    if (file !== undefined) found.push({ file: inEsp(file), isInOrder });
  }
  return found;
}

/**
 * Reads `bootctl list --json=short`: an array from 254 on, before that an object a line (boot facts,
 * bootctl). Null for what is neither.
 */
export function parseEntries(list: string): readonly BootEntry[] | null {
  const objects = jsonObjects(list.trim());
  if (objects === null) return null;
  return objects.flatMap((object) => {
    const { id, path } = object;
    if (typeof id !== "string") return [];
    const isImage = typeof path === "string" && /\/EFI\/Linux\/[^/]+\.efi$/i.test(path);
    return [{ id, path: isImage && entryId(id) !== null ? path.replaceAll(/\/+/g, "/") : null }];
  });
}

function jsonObjects(text: string): readonly Record<string, unknown>[] | null {
  if (text === "") return [];
  try {
    const values: unknown[] = text.startsWith("[")
      ? JSON.parse(text)
      : text.split("\n").map((line) => JSON.parse(line));
    return values.every(isJsonObject) ? values as Record<string, unknown>[] : null;
  } catch {
    return null;
  }
}
