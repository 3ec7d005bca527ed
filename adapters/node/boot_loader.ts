import type { Boot, BootEntry, BootError } from "../../core/ports/boot.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Disk } from "../../core/ports/disk.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { entryId } from "./boot_entry.ts";
import { parseBootPaths, parseEntries } from "./bootctl_output.ts";
import { readLoaderVariable } from "./efi_variable.ts";
import { hasFirmwareEntry } from "./firmware_entries.ts";
import { programFailed, type ProgramRun, runProgram } from "./program.ts";
import { createRoot } from "./root.ts";

/** Limit of each bootctl call, milliseconds: a firmware may take its time for a variable. */
const TIMEOUT_MS = 60_000;
/** Every entry with its command line. */
const MAX_BYTES = 1_048_576;

/** What may be set: ids of the agent's own images, and of images that were there before it. */
const SETTABLE = /^[a-z0-9][a-z0-9.-]{0,199}$/;

/** What the loader is asked through. `disk` must read the kernel's files. */
export interface NodeBootLoaderOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly root?: string;
}

/** The names in `EFI/BOOT`, which firmware looks into where it has no entry. */
async function inFallbackFolder(disk: Disk, esp: string): Promise<readonly string[]> {
  const names = await disk.list(`${esp === "/" ? "" : esp}/EFI/BOOT`);
  return names.ok ? names.value ?? [] : [];
}

/** The images in `EFI/Linux`, each of which systemd-boot offers by its name (boot facts, Entry ids). */
async function images(disk: Disk, esp: string): Promise<readonly BootEntry[] | null> {
  const folder = `${esp === "/" ? "" : esp}/EFI/Linux`;
  const names = await disk.list(folder);
  if (!names.ok || names.value === null) return null;
  return names.value.flatMap((name) => {
    const id = entryId(name);
    return id?.endsWith(".efi") ? [{ id, path: `${folder}/${name}` }] : [];
  });
}

/** What bootctl lists, and the images that it does not list or tells no file of. */
function withImages(
  listed: readonly BootEntry[],
  found: readonly BootEntry[],
): readonly BootEntry[] {
  const told = listed.map((entry) => ({
    id: entry.id,
    path: entry.path ?? found.find(({ id }) => id === entry.id)?.path ?? null,
  }));
  return [...told, ...found.filter(({ id }) => !listed.some((entry) => entry.id === id))];
}

/** systemd-boot, through `<root>/usr/bin/bootctl` and the EFI variables. Throws a RangeError for an id that must not be set. */
export function createNodeBootLoader(
  { disk, clock, root }: NodeBootLoaderOptions,
): Omit<Boot, "booted"> {
  const path = createRoot(root)("/usr/bin/bootctl");

  /** What it prints. `lenient`: a part that it could not tell makes it end with 1, the rest is told all the same. */
  async function bootctl(
    args: readonly string[],
    lenient = false,
  ): Promise<Result<string, BootError>> {
    const run: ProgramRun = { path, args, timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_BYTES, clock };
    const exit = await runProgram(run);
    if (!exit.ok) {
      const { code, message } = exit.error;
      return fail({ code: code === "missing" ? "missing" : "failed", message });
    }
    if (exit.value.code === 0 || (lenient && exit.value.code === 1)) return ok(exit.value.stdout);
    return fail({ code: "failed", message: programFailed(run, exit.value).message });
  }

  async function variable(name: string): Promise<Result<string | null, BootError>> {
    const read = await readLoaderVariable(disk, name);
    if (read.kind === "unreadable") {
      return fail({ code: "failed", message: `the EFI variable ${name} cannot be read` });
    }
    return ok(read.kind === "text" ? read.text : null);
  }

  async function set(
    verb: "set-oneshot" | "set-default",
    name: string,
    id: string | null,
  ): Promise<Result<void, BootError>> {
    if (id !== null && !SETTABLE.test(id)) {
      throw new RangeError(`"${id}" is no id of a boot entry that may be set`);
    }
    const done = await bootctl([verb, id ?? ""]);
    if (!done.ok) return done;
    const now = await variable(name);
    if (!now.ok) return now;
    if (now.value === id) return ok(undefined);
    const message = `bootctl ${verb} ${id ?? "''"} said that it was done, and the EFI variable ` +
      `${name} holds ${now.value ?? "nothing"}`;
    return fail({ code: "not_set", message });
  }

  return {
    async look() {
      const esp = await bootctl(["-p"]);
      if (!esp.ok) return esp;
      const mounted = esp.value.trim();
      if (!mounted.startsWith("/")) {
        return fail({ code: "failed", message: `bootctl knows no ESP: it prints "${mounted}"` });
      }
      const found = await images(disk, mounted);
      const list = await bootctl(["list", "--json=short"]);
      if (!list.ok && found === null) return list;
      const entries = list.ok ? parseEntries(list.value) : [];
      if (entries === null && found === null) {
        return fail({ code: "failed", message: "what bootctl list prints is no list of entries" });
      }
      // Of the ways to the loader the kernel and the ESP tell too.
      const status = await bootctl(["status"], true);
      const free = await disk.freeBytes(mounted);
      if (!free.ok) return fail({ code: "failed", message: free.error.message });
      const [loader, loaderFile, oneShot, pinned] = await Promise.all([
        variable("LoaderInfo"),
        variable("LoaderImageIdentifier"),
        variable("LoaderEntryOneShot"),
        variable("LoaderEntryDefault"),
      ]);
      for (const one of [loader, loaderFile, oneShot, pinned]) if (!one.ok) return one;
      const text = (one: Result<string | null, BootError>) => one.ok ? one.value : null;
      const startedFrom = text(loaderFile)?.replaceAll("\\", "/") ?? null;
      const ways = parseBootPaths(
        status.ok ? status.value : "",
        await inFallbackFolder(disk, mounted),
      );
      return ok({
        esp: mounted,
        freeBytes: free.value,
        loader: text(loader),
        loaderFile: startedFrom,
        entries: withImages(entries ?? [], found ?? []),
        oneShot: text(oneShot),
        default: text(pinned),
        ...ways,
        // The firmware starts this file by an entry alone.
        firmwareEntry: ways.firmwareEntry ?? await hasFirmwareEntry(disk) ??
          /^\/efi\/systemd\//i.test(startedFrom ?? ""),
      });
    },
    setOneShot: (id) => set("set-oneshot", "LoaderEntryOneShot", id),
    setDefault: (id) => set("set-default", "LoaderEntryDefault", id),
  };
}
