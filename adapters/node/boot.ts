import type { Boot, BootedImage } from "../../core/ports/boot.ts";
import type { Disk } from "../../core/ports/disk.ts";
import { entryHasVersion, entryId, entryOfStub, imageVersion } from "./boot_entry.ts";
import { createNodeBootLoader, type NodeBootLoaderOptions } from "./boot_loader.ts";
import { readLoaderVariable } from "./efi_variable.ts";

/** Where the EFI system partition is mounted, by distribution. */
const ESP_CANDIDATES = ["/boot", "/efi", "/boot/efi"];

/** The second is the one that the first usually links to. */
const OS_RELEASE_FILES = ["/etc/os-release", "/usr/lib/os-release"];

const UNKNOWN: BootedImage = { entry: null, sha256: null };

/** What the sources say together; `sure` is false where one of them could not be read. */
interface Finding {
  readonly entry: string | null;
  readonly sure: boolean;
}

/**
 * The boot loader of this node. The image that booted is told by what the boot stub and the boot loader
 * left in EFI variables, checked against os-release (boot facts, Which UKI booted). Reads everything anew at each call; a caller asks
 * once per boot, because the file on the ESP may be replaced later.
 */
export function createNodeBoot(options: NodeBootLoaderOptions): Boot {
  const { disk } = options;
  return {
    ...createNodeBootLoader(options),
    async booted() {
      const { entry, sure } = await bootedEntry(disk);
      if (entry === null) return UNKNOWN;
      const version = await readImageVersion(disk);
      if (version.kind === "known" && !entryHasVersion(entry, version.version)) return UNKNOWN;
      if (!sure || version.kind === "unreadable") return { entry, sha256: null };
      return { entry, sha256: await hashOfEntry(disk, entry) };
    },
  };
}

async function bootedEntry(disk: Disk): Promise<Finding> {
  const stub = await readLoaderVariable(disk, "StubImageIdentifier");
  const loader = await readLoaderVariable(disk, "LoaderEntrySelected");
  const named: (string | null)[] = [];
  if (stub.kind === "text") named.push(entryOfStub(stub.text));
  if (loader.kind === "text") named.push(entryId(loader.text));
  const [entry = null] = named;
  if (named.some((other) => other !== entry)) return { entry: null, sure: false };
  return { entry, sure: stub.kind !== "unreadable" && loader.kind !== "unreadable" };
}

type ImageVersion =
  | { readonly kind: "known"; readonly version: string }
  | { readonly kind: "absent" | "unreadable" };

async function readImageVersion(disk: Disk): Promise<ImageVersion> {
  for (const path of OS_RELEASE_FILES) {
    const file = await disk.read(path, 64 * 1024);
    if (!file.ok) return { kind: "unreadable" };
    if (file.value === null) continue;
    const version = imageVersion(new TextDecoder().decode(file.value));
    return version === null ? { kind: "absent" } : { kind: "known", version };
  }
  return { kind: "absent" };
}

/** The hash of the entry's file; null unless every file of that name on any ESP has the same. */
async function hashOfEntry(disk: Disk, entry: string): Promise<string | null> {
  const files = await entryFiles(disk, entry);
  if (files === null) return null;
  const hashes = new Set<string>();
  for (const path of files) {
    const hash = await disk.sha256(path);
    if (!hash.ok || hash.value === null) return null;
    hashes.add(hash.value);
  }
  const [only, ...others] = hashes;
  return only !== undefined && others.length === 0 ? only : null;
}

/**
 * The files in `EFI/Linux` of any ESP with that entry ID; null where a folder cannot be read. Names are
 * compared without case, as the file system of an ESP does.
 */
async function entryFiles(disk: Disk, entry: string): Promise<readonly string[] | null> {
  let paths: readonly string[] | null = ESP_CANDIDATES;
  const steps = [
    (name: string) => name.toLowerCase() === "efi",
    (name: string) => name.toLowerCase() === "linux",
    (name: string) => entryId(name) === entry,
  ];
  for (const isWanted of steps) {
    if (paths !== null) paths = await childrenOf(disk, paths, isWanted);
  }
  return paths;
}

async function childrenOf(
  disk: Disk,
  folders: readonly string[],
  isWanted: (name: string) => boolean,
): Promise<readonly string[] | null> {
  const found: string[] = [];
  for (const folder of folders) {
    const names = await disk.list(folder);
    if (!names.ok) return null;
    found.push(...(names.value ?? []).filter(isWanted).map((name) => `${folder}/${name}`));
  }
  return found;
}
