import { fail, ok, type Result } from "../../result.ts";
import type { StepTools } from "../definition.ts";
import { lookFor } from "../look_for.ts";
import {
  bucketPlace,
  nodeNames,
  objectsOfName,
  snapshotDirectory,
  toldOfName,
} from "./find_snapshots.ts";
import { namedTime, type SnapshotOf } from "./snapshot_name.ts";
import { BEFORE_MEMBER, localPrint, objectPrint, SnapshotsBefore } from "./snapshots_before.ts";

/** More snapshots of one name than years of nightly ones; the list of them is in the journal. */
const MAX_FILES = 1_000;
/** How long the disk and the API have to tell what is there, milliseconds. */
const LOOK_MS = 60_000;

/**
 * Which snapshots of a name that others may use too are this operation's, asked before k3s takes one. The
 * first run of the step notes what is there already, on disk before k3s is asked, and every later one
 * finds that list: so it never counts the operation's own snapshot as an older one. The error is for people.
 */
export async function ownSnapshots<P>(
  tools: StepTools<P>,
  name: string,
): Promise<Result<SnapshotOf, string>> {
  const noted = await notedSnapshots(tools, name);
  if (noted.before !== null) return ok(noted);
  const before = await lookBefore(tools, noted);
  if (!before.ok) return before;
  const isKept = await tools.keepHanded({ [BEFORE_MEMBER]: before.value });
  return isKept ? ok({ ...noted, before: before.value }) : fail("the program ends");
}

/**
 * The same for the steps after that. Without a list, which operations that an earlier version of the agent
 * began have not got, every snapshot of the name counts.
 */
export async function notedSnapshots<P>(
  { ports, node, handed }: StepTools<P>,
  name: string,
): Promise<SnapshotOf> {
  const before = SnapshotsBefore.safeParse(handed[BEFORE_MEMBER]);
  return { name, nodes: await nodeNames(ports, node), before: before.data ?? null };
}

async function lookBefore<P>(
  tools: StepTools<P>,
  of: SnapshotOf,
): Promise<Result<SnapshotsBefore, string>> {
  const { ports, say, signal } = tools;
  let why = "";
  const local = await lookFor(tools, "the disk to list the snapshots", LOOK_MS, async () => {
    const look = await localPrints(tools, of);
    if (look.ok) return look.value;
    why = look.error;
    return null;
  });
  if (local === null) return fail(`which snapshots are there already cannot be seen: ${why}`);
  const told = await lookFor(
    tools,
    "the API to list k3s's snapshots",
    LOOK_MS,
    () => toldOfName(ports, of),
  );
  const files = new Map<string, Record<string, string>>(
    [...told ?? []].map(({ file }) => [file, {}]),
  );
  for (const [file, print] of local) files.set(file, { local: print });

  const place = bucketPlace(tools);
  const known = [...files.keys()];
  const objects = place === null ? null : await objectsOfName(ports, place, of, { known, signal });
  for (const { file, object } of objects?.ok === true ? objects.value : []) {
    files.set(file, { ...files.get(file), s3: objectPrint(object) });
  }
  if (objects?.ok === false) {
    await say(
      `${objects.error.message}: what the bucket has already is not known, so only a file that is new ` +
        "on the node counts there",
    );
  }
  if (files.size > MAX_FILES) {
    return fail(
      `${files.size} snapshots are named ${of.name}, and at most ${MAX_FILES} can be: choose ` +
        "another name, or remove old ones",
    );
  }
  return ok({ files: Object.fromEntries(files), bucket_listed: objects?.ok === true });
}

/** The copies on the node, by file name. */
async function localPrints<P>(
  { ports }: StepTools<P>,
  of: SnapshotOf,
): Promise<Result<ReadonlyMap<string, string>, string>> {
  const directory = await snapshotDirectory(ports);
  const names = await ports.disk.list(directory);
  if (!names.ok) return fail(names.error.message);
  const prints = new Map<string, string>();
  for (const file of names.value ?? []) {
    if (namedTime(file, of) === null) continue;
    const stat = await ports.disk.stat(`${directory}/${file}`);
    if (!stat.ok) return fail(stat.error.message);
    if (stat.value !== null) prints.set(file, localPrint(stat.value));
  }
  return ok(prints);
}
