import type { DiskError } from "../../ports/disk.ts";
import type { Ports } from "../../ports/mod.ts";
import type { ProgramError } from "../../ports/systemd.ts";
import { ok, type Result } from "../../result.ts";
import type { Hold } from "../../state/custody.ts";
import { writeDocument } from "../../state/durable.ts";
import { otherOwner } from "../../state/json_document.ts";
import { ownerOf } from "../../state/owner.ts";
import { K3S_HOLD_DROP_IN, K3S_HOLD_FILE, K3S_UNIT, parentOf } from "../../state/paths.ts";

const DROP_IN = `# Managed by pbx-agent: k3s is held until its database is whole again.
[Unit]
ConditionPathExists=!${K3S_HOLD_FILE}
`;

const PUBLIC_FILE = 0o644;

/**
 * Keeps k3s from starting, by whomever and at whichever boot, until {@link liftHold}. Does not stop it.
 *
 * @param why for whoever finds the file
 * @param cluster kube-system's UID of the node's cluster; null leaves what an earlier hold says of it
 */
export async function placeHold(
  { disk, systemd }: Ports,
  why: string,
  cluster: string | null,
): Promise<Result<void, DiskError | ProgramError>> {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const uid = cluster ?? await heldCluster({ disk });
  const agent = await ownerOf(disk) ?? null;
  const words = [
    why.trim(),
    ...(uid === null ? [] : [`${CLUSTER}${uid}`]),
    ...(agent === null ? [] : [`${AGENT}${agent}`]),
    "",
  ].join("\n");
  const file = await writeDocument(disk, K3S_HOLD_FILE, bytes(words), PUBLIC_FILE);
  if (!file.ok) return file;
  return await placeHoldDropIn({ disk, systemd });
}

/** Writes the drop-in by which systemd heeds the hold file. */
export async function placeHoldDropIn(
  { disk, systemd }: Pick<Ports, "disk" | "systemd">,
): Promise<Result<void, DiskError | ProgramError>> {
  const folder = await disk.makeDirectory(parentOf(K3S_HOLD_DROP_IN), 0o755);
  if (!folder.ok) return folder;
  const bytes = new TextEncoder().encode(DROP_IN);
  const dropIn = await writeDocument(disk, K3S_HOLD_DROP_IN, bytes, PUBLIC_FILE);
  if (!dropIn.ok) return dropIn;
  return await systemd.daemonReload();
}

/** Why k3s is held, as the hold file says; null where it is not. */
export async function readHold({ disk }: Pick<Ports, "disk">): Promise<string | null> {
  return (await readHoldFile({ disk }))?.why ?? null;
}

/** What the hold file says; null where k3s is not held. */
export async function readHoldFile({ disk }: Pick<Ports, "disk">): Promise<Hold | null> {
  const text = await holdText({ disk });
  if (text === null) return null;
  const lines = text.split("\n");
  const after = (start: string) =>
    lines.find((line) => line.startsWith(start))?.slice(start.length);
  const uid = after(CLUSTER) ?? "";
  // Another agent's hold holds k3s all the same, but says nothing about this one's cluster.
  const isOurs = otherOwner({ agent: after(AGENT) ?? null }, await ownerOf(disk)) === null;
  return {
    why: lines.filter((line) => !line.startsWith(CLUSTER) && !line.startsWith(AGENT)).join("\n"),
    cluster: isOurs && /^[A-Za-z0-9-]{1,64}$/.test(uid) ? uid : null,
  };
}

/** Like {@link readHold}, for a verdict: a file that cannot be read at the moment shows nothing. */
export async function lookAtHold(
  { disk }: Pick<Ports, "disk">,
): Promise<Result<string | null, DiskError>> {
  const read = await disk.read(K3S_HOLD_FILE);
  return read.ok ? ok(await readHold({ disk })) : read;
}

/** What the line of the hold file begins with that names the cluster. */
const CLUSTER = "kube-system of its cluster: ";
/** And of the one that names the agent that placed it. */
const AGENT = "agent: ";

/**
 * kube-system's UID of the cluster of a node whose k3s is held; null where it is not, or not known. An
 * agent that has lost its state cannot ask its own API for it, and without it could prove nothing.
 */
export async function heldCluster({ disk }: Pick<Ports, "disk">): Promise<string | null> {
  return (await readHoldFile({ disk }))?.cluster ?? null;
}

async function holdText({ disk }: Pick<Ports, "disk">): Promise<string | null> {
  const read = await disk.read(K3S_HOLD_FILE);
  // Unreadable is there all the same: systemd only looks whether it exists.
  if (!read.ok) return read.error.message;
  return read.value === null ? null : new TextDecoder().decode(read.value);
}

/** The words by which an operation's own hold is known. */
export function holdWords(kind: string, id: string, until: string): string {
  return `${kind} ${id} holds k3s until ${until}`;
}

/** Whether a hold is this very operation's: IDs may begin like each other. */
export function isHoldOf(hold: string, kind: string, id: string): boolean {
  return hold.startsWith(`${kind} ${id} holds `);
}

/** Lets k3s start again. Does not start it. */
export async function liftHold(
  { disk, systemd }: Ports,
): Promise<Result<void, DiskError | ProgramError>> {
  for (const path of [K3S_HOLD_FILE, K3S_HOLD_DROP_IN]) {
    const removed = await disk.remove(path);
    if (!removed.ok) return removed;
    if (!removed.value) continue;
    const synced = await disk.syncDirectory(parentOf(path));
    if (!synced.ok) return synced;
  }
  return await systemd.daemonReload();
}

/** Whether k3s's unit is up, or on its way. */
export async function isUnitUp({ systemd }: Ports): Promise<boolean> {
  const state = await systemd.unitState(K3S_UNIT);
  return state === "active" || state === "activating";
}
