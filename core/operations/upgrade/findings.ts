import { droppedEntries, entryOfRelease, isPlainEntry, releaseOfEntry } from "../../host/slots.ts";
import { k3sStepFault } from "../../host/k3s_version.ts";
import type { BootedImage, BootError, BootView } from "../../ports/boot.ts";
import type { Arch } from "../../protocol/enroll.ts";
import type { Artifact, Release } from "../../protocol/release.ts";
import type { AgeRefusalCode } from "../../protocol/release_age.ts";
import { compareVersions } from "../../protocol/version_order.ts";
import type { Result } from "../../result.ts";

/** Everything that is known before an upgrade. What could not be found out says why, for people. */
export interface PreflightFacts {
  /** The release that is asked for. */
  readonly to: string;
  readonly arch: Arch;
  /** Its verified manifest. */
  readonly release: Result<Release, string>;
  /** By which rule it is too old to be taken (trust.md T5); null where it is not. */
  readonly tooOld: AgeRefusalCode | null;
  /** The release that runs. */
  readonly from: string | null;
  readonly booted: BootedImage;
  readonly boot: Result<BootView, BootError>;
  readonly bootId: string | null;
  /** The version of the k3s that runs. */
  readonly k3s: Result<string, string>;
  readonly apiUp: boolean;
  /** What is not well in the cluster, for people. */
  readonly clusterFindings: readonly string[];
  /** Why a restart of k3s is pending; null where none is. */
  readonly pendingRestart: string | null;
  /** Whether the snapshot's target takes one: the bucket, or the node's disk where there is none. */
  readonly snapshotTarget: Result<void, string>;
  /** Bytes on the ESP that fetching this image would give back or not need. */
  readonly reclaimableBytes: number;
  /** Bytes that the agent's own disk still has. */
  readonly diskFreeBytes: Result<number, string>;
}

/** What stays free on the ESP beside three images, for the loader's own files. */
export const ESP_RESERVE_BYTES = 1024 * 1024;
/** What the agent's documents need; a node that is about to fill up is no node to upgrade. */
const DISK_RESERVE_BYTES = 64 * 1024 * 1024;

/** Where the firmware looks last (boot facts). */
const FALLBACK: Readonly<Record<Arch, string>> = {
  amd64: "EFI/BOOT/BOOTX64.EFI",
  arm64: "EFI/BOOT/BOOTAA64.EFI",
};

/** Everything that is against the upgrade, for people; empty where nothing is. */
export function preflightFindings(facts: PreflightFacts): readonly string[] {
  return [
    ...releaseFindings(facts),
    ...bootFindings(facts),
    ...nodeFindings(facts),
  ];
}

function releaseFindings({ to, from, arch, release, k3s, booted }: PreflightFacts): string[] {
  const findings: string[] = [];
  if (from === null) {
    findings.push("which release runs is not known: the image has no IMAGE_VERSION in os-release");
  } else {
    const order = compareVersions(to, from);
    if (!order.ok) {
      findings.push(`whether ${to} is newer than ${from} cannot be told: ${order.error}`);
    } else if (order.value <= 0) {
      findings.push(`release ${to} is not newer than ${from}, which runs`);
    } else if (entryOfRelease(to, arch) === booted.entry) {
      findings.push(`the image of ${to} would have the file name of the one that runs`);
    }
  }
  if (!release.ok) return [...findings, release.error];
  const { k3s_version, artifacts } = release.value.image;
  if (artifacts[arch] === undefined) findings.push(`release ${to} has no image for ${arch}`);
  if (!k3s.ok) return [...findings, k3s.error];
  const fault = k3sStepFault(k3s.value, k3s_version);
  return fault === null ? findings : [...findings, fault];
}

function bootFindings(facts: PreflightFacts): string[] {
  const { booted, boot, release, arch } = facts;
  const findings: string[] = [];
  if (booted.entry === null || booted.sha256 === null) {
    findings.push(
      "which image booted is not known for sure, so there would be none to come back to: " +
        "`bootctl status` and IMAGE_VERSION in os-release must say the same",
    );
  }
  if (booted.entry !== null && !isPlainEntry(booted.entry)) {
    findings.push(
      `the image that runs is ${booted.entry}, and only names of a to z, 0 to 9, dot and dash can be ` +
        "pinned as the default: rename its file, and reboot",
    );
  }
  if (facts.bootId === null) findings.push("the kernel does not tell its boot ID");
  if (!boot.ok) return [...findings, `the boot loader cannot be asked: ${boot.error.message}`];
  const { loader, entries, firmwareEntry, fallbackLoader, oneShot } = boot.value;
  // What tells which entry it selected is a loader of systemd's kind, whether it names itself or not.
  if (loader !== null && !loader.startsWith("systemd-boot")) {
    findings.push(`this node was not started by systemd-boot but by ${loader}`);
  }
  if (booted.entry !== null && !entries.some(({ id }) => id === booted.entry)) {
    findings.push(`the boot loader no longer offers ${booted.entry}, which runs`);
  }
  const pinned = boot.value.default;
  const isOther = pinned !== null && booted.entry !== null && pinned !== booted.entry;
  if (isOther && entries.some(({ id }) => id === pinned)) {
    findings.push(
      `the default is ${pinned}, not ${booted.entry}, which runs: reboot into it, or pin what runs ` +
        "(`bootctl set-default`)",
    );
  }
  if (oneShot !== null) {
    findings.push(
      `the next boot is set to ${oneShot}: reboot, or clear it (\`bootctl set-oneshot ''\`)`,
    );
  }
  if (!firmwareEntry) {
    findings.push(
      "the firmware has no active entry for systemd-boot in its boot order: `bootctl install` makes one",
    );
  }
  if (!fallbackLoader) {
    findings.push(
      `systemd-boot is not in ${FALLBACK[arch]}, where the firmware looks when an image does not ` +
        "load: `bootctl install` puts it there",
    );
  }
  const image = release.ok ? release.value.image.artifacts[arch] : undefined;
  if (image !== undefined) findings.push(...roomFinding(image, boot.value, facts));
  return findings;
}

function roomFinding(
  { size }: Artifact,
  view: BootView,
  { reclaimableBytes, booted }: PreflightFacts,
): string[] {
  const { esp, freeBytes } = view;
  const needed = size + ESP_RESERVE_BYTES;
  const room = freeBytes + reclaimableBytes;
  if (room >= needed) return [];
  const inUse = [booted.entry, view.default].filter((id) => id !== null);
  const others = booted.entry === null ? [] : droppedEntries(view, inUse).map(({ id }) => id);
  const way = others.length === 0
    ? ""
    : `; what neither runs nor is the default can be removed: ${others.join(", ")}`;
  return [
    `the ESP (${esp}) has no room for the new image beside those that stay: ${needed} bytes are ` +
    `needed and ${room} are free${way}`,
  ];
}

function nodeFindings(facts: PreflightFacts): string[] {
  const { apiUp, pendingRestart, snapshotTarget, diskFreeBytes: free } = facts;
  const findings: string[] = [];
  if (!apiUp) {
    findings.push("the Kubernetes API does not answer: what is not healthy is not upgraded");
  }
  findings.push(...facts.clusterFindings);
  if (pendingRestart !== null) {
    findings.push(
      `a restart of k3s is pending (${pendingRestart}): wait for its maintenance window, or restart ` +
        "k3s by hand",
    );
  }
  if (!snapshotTarget.ok) findings.push(snapshotTarget.error);
  if (!free.ok) findings.push(free.error);
  else if (free.value < DISK_RESERVE_BYTES) {
    findings.push(`the disk is full: ${free.value} bytes are free`);
  }
  return findings;
}

/**
 * Which of the releases that a node may run it does run: the one whose image has the booted entry's name.
 * The file name alone does where none of them is it, because names are mapped.
 *
 * @param candidates by how much they are believed
 */
export function runningRelease(
  { entry }: BootedImage,
  arch: Arch,
  candidates: readonly (string | null)[],
): string | null {
  const known = candidates.filter((one) => one !== null);
  if (entry === null) return known[0] ?? null;
  return known.find((release) => entryOfRelease(release, arch) === entry) ??
    releaseOfEntry(entry) ?? known[0] ?? null;
}
