import type { Result } from "../result.ts";

/** The boot image that really booted, as far as the node can tell for sure. */
export interface BootedImage {
  /** Boot entry id, for example `pbx-1.4.0-amd64.efi`; null when unknown. */
  readonly entry: string | null;
  /** Lower-case hex SHA-256 of the image on the ESP; null when it cannot be known for sure. */
  readonly sha256: string | null;
}

/** One entry that the boot loader offers. */
export interface BootEntry {
  /** Its id as the loader makes it: of an image in `EFI/Linux` the lower-cased file name. */
  readonly id: string;
  /** Absolute path of the image's file; null for an entry that is no file in `EFI/Linux`. */
  readonly path: string | null;
}

/** What the boot loader has and what it would do. */
export interface BootView {
  /** Where the EFI system partition is mounted. */
  readonly esp: string;
  /** Bytes that can still be written to it. */
  readonly freeBytes: number;
  /** The loader that started this boot, for people (`systemd-boot 252.39`); null where none says so. */
  readonly loader: string | null;
  /** The file that the firmware started, for example `/EFI/systemd/systemd-bootx64.efi`; null when unknown. */
  readonly loaderFile: string | null;
  readonly entries: readonly BootEntry[];
  /** The entry for the next boot only (`LoaderEntryOneShot`); the loader takes it away as it starts it. */
  readonly oneShot: string | null;
  /** The pinned default (`LoaderEntryDefault`). Null: the highest version is started. */
  readonly default: string | null;
  /** The firmware has an active entry for systemd-boot in its boot order (`Linux Boot Manager`). */
  readonly firmwareEntry: boolean;
  /** systemd-boot also lies where firmware looks without any entry (`EFI/BOOT/BOOTX64.EFI`, `BOOTAA64.EFI`). */
  readonly fallbackLoader: boolean;
}

/**
 * Why the boot loader could not be asked or set. `missing`: this machine has no bootctl. `failed`: it did
 * not do it. `not_set`: it said that it did, and the variable holds something else.
 */
export interface BootError {
  readonly code: "missing" | "failed" | "not_set";
  readonly message: string;
}

/**
 * The boot loader: systemd-boot 252 to 262 (boot facts). The images themselves are files, below `esp`.
 * Only ids of `[a-z0-9.-]` are set: others behave differently in each version, and the loader silently
 * ignores an id that it does not know.
 */
export interface Boot {
  /** Never fails: what cannot be read is unknown, and unknown is never reported as a match. */
  booted(): Promise<BootedImage>;
  /** Everything at once, read anew. */
  look(): Promise<Result<BootView, BootError>>;
  /** Starts `id` at the next boot only; null: nothing special. Ok only when the variable, read back, says so. */
  setOneShot(id: string | null): Promise<Result<void, BootError>>;
  /** Starts `id` at every boot; null: the highest version. Ok only when the variable, read back, says so. */
  setDefault(id: string | null): Promise<Result<void, BootError>>;
}
