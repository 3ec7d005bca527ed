import type { Disk } from "../../ports/disk.ts";
import type { Inspection, SnapshotFacts, SnapshotLook } from "../../ports/snapshot_file.ts";
import { fail, ok, type Result } from "../../result.ts";
import { PRIVATE_DIRECTORY } from "../../state/durable.ts";
import { RESTORE_DIRECTORY } from "../../state/paths.ts";
import type { StepTools } from "../definition.ts";
import { forGood, type Refusal, refusalOf } from "../patiently.ts";
import { expectedFile, hashRefusal, sizeRefusal } from "./expected_file.ts";
import type { RestoreParams } from "./params.ts";
import type { Source } from "./source.ts";

/** A whole, plain snapshot on the node. */
export interface Staged {
  readonly path: string;
  readonly facts: SnapshotFacts;
}

/** A snapshot as it came from the bucket. */
export const RECEIVED_FILE = `${RESTORE_DIRECTORY}/received`;
/** The plain snapshot out of a zip. */
export const UNPACKED_FILE = `${RESTORE_DIRECTORY}/snapshot`;

/** Left free on the disk, bytes: the logs of etcd and of everything else need room too. */
export const RESERVE_BYTES = 256 * 1024 ** 2;
/** Largest plain snapshot, bytes: etcd itself advises against more than 8 GB. */
const MAX_BYTES = 16 * 1024 ** 3;

/** Bytes that the disk can take for files of a restore. */
export async function roomBytes(
  disk: Disk,
  paths: readonly string[],
): Promise<Result<number, Refusal>> {
  let refusal: Refusal = { message: "there is no such folder", passes: false };
  for (const path of paths) {
    const free = await disk.freeBytes(path);
    if (free.ok) return ok(Math.max(0, free.value - RESERVE_BYTES));
    refusal = refusalOf(free.error);
  }
  return fail(refusal);
}

/**
 * Gets the snapshot onto the node, plain and whole: from the bucket by a stream, out of its zip. The error
 * is a finding, for people. Takes as much of the disk as leaves the reserve.
 */
export async function stage(
  tools: StepTools<RestoreParams>,
  source: Source,
  texts: readonly string[],
): Promise<Result<Staged, Refusal>> {
  const { disk } = tools.ports;
  const folder = await disk.makeDirectory(RESTORE_DIRECTORY, PRIVATE_DIRECTORY);
  if (!folder.ok) return fail(refusalOf(folder.error));
  for (const path of [RECEIVED_FILE, UNPACKED_FILE]) {
    const removed = await disk.remove(path);
    if (!removed.ok) return fail(refusalOf(removed.error));
  }
  const expected = await expectedFile(tools);
  if (!expected.ok) return expected;
  const resized = sizeRefusal(expected.value, source);
  if (resized !== null) return fail(resized);
  if (source.kind === "local") {
    const changed = await hashRefusal(tools, expected.value, {
      path: source.path,
      name: source.path,
    });
    if (changed !== null) return fail(changed);
    return await take(tools, source.path, source.path, texts);
  }
  const received = await receive(tools, source, texts);
  if (!received.ok) return received;
  const changed = await hashRefusal(tools, expected.value, {
    path: RECEIVED_FILE,
    name: source.name,
  });
  if (changed !== null) return fail(changed);
  if (received.value !== null) return whole(source.name, RECEIVED_FILE, received.value);
  const staged = await take(tools, RECEIVED_FILE, source.name, texts);
  // Only the plain one is of use from here on, and takes its room.
  await disk.remove(RECEIVED_FILE);
  return staged;
}

/** Looks at a file, and unzips it where it is a zip. */
async function take(
  tools: StepTools<RestoreParams>,
  path: string,
  name: string,
  texts: readonly string[],
): Promise<Result<Staged, Refusal>> {
  const { ports, signal } = tools;
  const room = await roomBytes(ports.disk, [RESTORE_DIRECTORY]);
  if (!room.ok) return room;
  const look: SnapshotLook = { texts, maxBytes: MAX_BYTES, signal };
  // k3s calls a compressed one so, and so does nothing else.
  if (!path.endsWith(".zip") && path !== RECEIVED_FILE) {
    const plain = await ports.snapshotFile.inspect(path, look);
    if (!plain.ok) return fail(refusalOf(plain.error));
    if (!plain.value.whole || plain.value.facts.kind === "plain") {
      return whole(name, path, plain.value);
    }
  }
  const unpacked = await ports.snapshotFile.unpack(path, UNPACKED_FILE, {
    ...look,
    maxBytes: Math.min(MAX_BYTES, room.value),
  });
  if (!unpacked.ok) return fail(refusalOf(unpacked.error));
  if (!unpacked.value.whole && room.value < MAX_BYTES) {
    const why = `${unpacked.value.why} (the disk has room for ${room.value} bytes of it)`;
    return whole(name, UNPACKED_FILE, { whole: false, why });
  }
  return whole(name, UNPACKED_FILE, unpacked.value);
}

/** Receives an object; null for a zip, which is not looked at yet. */
async function receive(
  { ports, signal, progress }: StepTools<RestoreParams>,
  source: Extract<Source, { kind: "s3" }>,
  texts: readonly string[],
): Promise<Result<Inspection | null, Refusal>> {
  const { object, bucket, name } = source;
  const opened = await ports.snapshotFile.receive(RECEIVED_FILE, { texts, maxBytes: object.size });
  if (!opened.ok) return fail(refusalOf(opened.error));
  const receiver = opened.value;
  let refused: Refusal | null = null;
  const got = await ports.s3.get(bucket, object, async (bytes, total) => {
    const written = await receiver.write(bytes);
    if (!written.ok) refused = refusalOf(written.error);
    else await progress({ done: total, total: object.size, unit: "bytes" });
    return written.ok;
  }, { signal });
  if (!got.ok) {
    await receiver.discard();
    return refused === null
      ? forGood(`${name} cannot be fetched: ${got.error.message}`)
      : fail<Refusal>(refused);
  }
  const end = await receiver.finish();
  return end.ok ? end : fail(refusalOf(end.error));
}

function whole(name: string, path: string, inspection: Inspection): Result<Staged, Refusal> {
  if (inspection.whole) return ok({ path, facts: inspection.facts });
  return forGood(`${name} is no whole snapshot: ${inspection.why}; take another one`);
}
