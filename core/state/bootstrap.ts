import * as z from "zod";
import type { JsonValue } from "../json.ts";
import type { Disk, DiskError } from "../ports/disk.ts";
import { KnownBoxes } from "../protocol/bound_box.ts";
import { StoredEnrollAnswer } from "../protocol/enroll.ts";
import { ServerId } from "../protocol/identifiers.ts";
import { sealingPublicKey } from "../protocol/sealing.ts";
import { openAll, scanEnrollAnswer } from "../protocol/secret_positions.ts";
import type { Result } from "../result.ts";
import type { Found } from "./durable.ts";
import { readDocument, writeDocument } from "./durable.ts";
import type { Identity } from "./identity.ts";
import { belongsTo, FORMAT, jsonBytes, jsonParser } from "./json_document.ts";
import { BOOTSTRAP_FILE } from "./paths.ts";
import { PortalBase } from "./portal_url.ts";

/** The form of bootstrap.json. */
export const BootstrapDocument = z.object({
  format: z.literal(FORMAT),
  server_id: ServerId,
  portal: PortalBase,
  // What the portal may not send in clear is not taken from the disk in clear either.
  answer: StoredEnrollAnswer.refine((answer) => scanEnrollAnswer(answer as JsonValue).ok),
  /** The boxes that came unbound, by their ID: the stored ones are bound. */
  boxes: KnownBoxes.optional(),
});
/** bootstrap.json: the answer to the enrollment, secrets still sealed, and whom it was given to. */
export type Bootstrap = Omit<z.infer<typeof BootstrapDocument>, "format">;

/**
 * Reads bootstrap.json. One that was given to another agent is unreadable: it would make this node that
 * agent.
 *
 * @param identity this agent's; null where it is not known, and nothing is compared
 */
export function loadBootstrap(
  disk: Disk,
  identity: Identity | null = null,
): Promise<Result<Found<Bootstrap>, DiskError>> {
  const parse = jsonParser(BootstrapDocument);
  return readDocument(disk, BOOTSTRAP_FILE, (bytes) => {
    const found = parse(bytes);
    if (found.kind !== "loaded" || identity === null) return found;
    const why = notGivenTo(identity, found.value);
    if (why === null) return found;
    return { kind: "unreadable", reason: why, owner: found.value.answer.agent_id };
  });
}

/**
 * Why an answer was not given to this agent; null where it was. Before the ID has reached identity.json
 * the keys tell: the answer's boxes (there is always one, k3s's token) were sealed to those that asked.
 */
function notGivenTo(
  { binding, keys }: Identity,
  { server_id, answer }: Bootstrap,
): string | null {
  if (binding !== null) {
    if (answer.agent_id !== binding.agent_id) return belongsTo(answer.agent_id, binding.agent_id);
    return server_id === binding.server_id
      ? null
      : `was given to server ${server_id}, and this agent was made for ${binding.server_id}`;
  }
  const boxes = scanEnrollAnswer(answer as JsonValue);
  const key = { secretKey: keys.sealing, publicKey: sealingPublicKey(keys.sealing) };
  if (boxes.ok && openAll(boxes.value, [key]).ok) return null;
  return `was given to agent ${answer.agent_id}, which has other keys than this one`;
}

/** Stores the answer durably. */
export function saveBootstrap(disk: Disk, bootstrap: Bootstrap): Promise<Result<void, DiskError>> {
  return writeDocument(disk, BOOTSTRAP_FILE, jsonBytes({ format: FORMAT, ...bootstrap }));
}
