import type { BootedImage, BootView } from "../ports/boot.ts";
import type { Arch } from "../protocol/enroll.ts";

/** The file name of a release's image, as release builds give it, with the release and architecture as they stand there. */
const PBX_IMAGE = /^pbx-(.+)-(?:amd64|arm64)\.efi$/;

/** How a file is called on the ESP while nothing may start it: boot loaders take `.efi` only. */
const PART = ".part";

/**
 * A release as part of a file name on the ESP: lower case, anything but `[a-z0-9.-]` a dash (boot facts,
 * Entry ids). Two releases can share one.
 */
export function mappedRelease(release: string): string {
  return release.toLowerCase().replace(/[^a-z0-9.-]/g, "-");
}

/** The boot entry of a release's image, which is its file name: `pbx-<release>-<arch>.efi`. */
export function entryOfRelease(release: string, arch: Arch): string {
  return `pbx-${mappedRelease(release)}-${arch}.efi`;
}

/** Whether an entry has a name that every version of the loader understands alike. */
export function isPlainEntry(entry: string): boolean {
  return /^[a-z0-9][a-z0-9.-]*$/.test(entry);
}

/** The release, as the file name has it, of one of the agent's images; null for any other entry. */
export function releaseOfEntry(entry: string): string | null {
  return PBX_IMAGE.exec(entry)?.[1] ?? null;
}

/** Where images lie on the ESP. */
export function imageFolder(esp: string): string {
  return `${esp === "/" ? "" : esp}/EFI/Linux`;
}

/** Where an image is fetched to. */
export function partPath(esp: string, entry: string): string {
  return `${imageFolder(esp)}/${entry}${PART}`;
}

/** Whether a file in the images' folder is one that an agent began to fetch. */
export function isPart(name: string): boolean {
  return name.endsWith(PART) && releaseOfEntry(name.slice(0, -PART.length).toLowerCase()) !== null;
}

/** The agent's images among the entries, but for those that stay. Others' entries are not its to remove. */
export function droppedEntries(
  { entries }: Pick<BootView, "entries">,
  keep: readonly string[],
): readonly { readonly id: string; readonly path: string }[] {
  return entries.flatMap(({ id, path }) =>
    path === null || releaseOfEntry(id) === null || keep.includes(id) ? [] : [{ id, path }]
  );
}

/** The next boot, as far as the boot loader's variables and entries say it. */
export function nextBoot({ entries, oneShot, default: pinned }: BootView): string | null {
  const isThere = (id: string | null) => id !== null && entries.some((entry) => entry.id === id);
  // An id that the loader does not know is ignored.
  if (isThere(oneShot)) return oneShot;
  return isThere(pinned) ? pinned : null;
}

/** One image on the ESP, for people and programs. */
export interface Slot {
  readonly entry: string;
  /** The release, where it is known; else what the file name has of it. */
  readonly release: string | null;
}

/** What `status` tells of the boot loader. */
export interface Slots {
  readonly booted: Slot | null;
  /** The pinned default; null where none is, and the highest version starts. */
  readonly default: Slot | null;
  /** Started at the next boot only. */
  readonly one_shot: Slot | null;
  /** The agent's images that neither run nor are the default. */
  readonly others: readonly Slot[];
  readonly esp_free_bytes: number;
  /** What happens next, a sentence for people. */
  readonly next: string;
}

/** What `status` knows of an upgrade that is under way. */
export interface UpgradeUnderWay {
  readonly to: string;
  readonly entry: string;
  readonly step: string;
}

/**
 * What the boot loader has, by slots.
 *
 * @param releases which release an entry is of, as far as upgrades noted it
 */
export function slotsOf(
  view: BootView,
  booted: BootedImage,
  releases: ReadonlyMap<string, string>,
  upgrade: UpgradeUnderWay | null,
): Slots {
  const slot = (entry: string | null): Slot | null =>
    entry === null ? null : { entry, release: releases.get(entry) ?? releaseOfEntry(entry) };
  const shown = [booted.entry, view.default, view.oneShot].filter((id) => id !== null);
  return {
    booted: slot(booted.entry),
    default: slot(view.default),
    one_shot: slot(view.oneShot),
    others: droppedEntries(view, shown).map(({ id }) => slot(id) as Slot),
    esp_free_bytes: view.freeBytes,
    next: sentence(view, booted, upgrade),
  };
}

function sentence(view: BootView, { entry }: BootedImage, upgrade: UpgradeUnderWay | null): string {
  const next = nextBoot(view);
  const starts = next === null
    ? "the next boot starts the image with the highest version"
    : next === entry
    ? "the next boot starts the image that runs"
    : `the next boot starts ${next}`;
  if (upgrade === null) {
    return next !== null && next === view.oneShot ? `${starts}, once` : starts;
  }
  if (entry !== upgrade.entry) {
    return next === upgrade.entry
      ? `the next boot tries ${upgrade.entry}, once; any other goes back to ${view.default}`
      : `the upgrade to ${upgrade.to} is at ${upgrade.step}; until it restarts the node, ${starts}`;
  }
  return next === entry
    ? `the upgrade to ${upgrade.to} is at ${upgrade.step}: its image is the default`
    : `${entry} is on trial: it becomes the default when it has passed its health gate; ` +
      `any boot before that starts ${next ?? "the image with the highest version"}`;
}
