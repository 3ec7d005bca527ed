import { fail, ok, type Result } from "../../result.ts";
import { SNAPSHOTS_FILE } from "../../state/paths.ts";
import type { KnownSnapshot } from "../../state/snapshot_record.ts";
import type { StepTools } from "../definition.ts";
import { type Refusal, refusalOf } from "../patiently.ts";
import type { RestoreParams } from "./params.ts";
import type { Source } from "./source.ts";

/** Which file a restore means, as far as that is known. */
export interface ExpectedFile {
  /** The SHA-256 that the operation gives; null where it gives none. */
  readonly given: string | null;
  /** What the file was like when k3s had written it on this node; null where the agent did not see that. */
  readonly known: KnownSnapshot | null;
}

/**
 * What the snapshot's file has to be. Where the owner has keys, one from a bucket has to be known by its
 * hash: what stands under a name there can be anybody's.
 */
export async function expectedFile(
  { params, snapshots, node }: StepTools<RestoreParams>,
): Promise<Result<ExpectedFile, Refusal>> {
  const known = await snapshots.find(params.snapshot);
  if (!known.ok) return fail(refusalOf(known.error));
  const expected = { given: params.sha256, known: known.value };
  if (node.hasOwner && params.from === "s3" && params.sha256 === null && known.value === null) {
    const message =
      `the SHA-256 of ${params.snapshot} is not known any more (${SNAPSHOTS_FILE}): ` +
      "give it as params.sha256";
    return fail({ message, passes: false });
  }
  return ok(expected);
}

/** Why a file of another size cannot be the one; null where it has the right size, or none is known. */
export function sizeRefusal({ known }: ExpectedFile, source: Source): Refusal | null {
  if (known === null || source.size === known.size) return null;
  const name = source.kind === "local" ? source.path : source.name;
  return changed(`${name} has ${source.size} bytes, and k3s wrote ${known.size}: ${OTHER_FILE}`);
}

/** Why a file on the node is not the one that the restore means; null where it is. */
export async function hashRefusal(
  { ports: { disk } }: StepTools<RestoreParams>,
  { given, known }: ExpectedFile,
  file: { readonly path: string; readonly name: string },
): Promise<Refusal | null> {
  if (given === null && known === null) return null;
  const found = await disk.sha256(file.path);
  if (!found.ok) return refusalOf(found.error);
  const is = `${file.name} has the SHA-256 ${found.value}`;
  if (given !== null && found.value !== given) {
    return changed(
      `${is}, and params.sha256 is ${given}: it is another file than the one that was asked for`,
    );
  }
  if (known !== null && found.value !== known.sha256) {
    return changed(`${is}, and the file that k3s wrote had ${known.sha256}: ${OTHER_FILE}`);
  }
  return null;
}

const OTHER_FILE =
  `it was changed or replaced since; restore another snapshot, or remove its entry from ${SNAPSHOTS_FILE} ` +
  "if this is the right file all the same";

function changed(message: string): Refusal {
  return { message, passes: false, code: "snapshot_changed" };
}
