import * as z from "zod";
import type { JsonValue } from "../json.ts";
import type { Disk, DiskError } from "../ports/disk.ts";
import { EnrollAnswer } from "../protocol/enroll.ts";
import { ServerId } from "../protocol/identifiers.ts";
import { scanEnrollAnswer } from "../protocol/secret_positions.ts";
import type { Result } from "../result.ts";
import type { Found } from "./durable.ts";
import { readDocument, writeDocument } from "./durable.ts";
import { FORMAT, jsonBytes, jsonParser } from "./json_document.ts";
import { BOOTSTRAP_FILE } from "./paths.ts";
import { PortalBase } from "./portal_url.ts";

/** The form of bootstrap.json. */
export const BootstrapDocument = z.object({
  format: z.literal(FORMAT),
  server_id: ServerId,
  portal: PortalBase,
  // What the portal may not send in clear is not taken from the disk in clear either.
  answer: EnrollAnswer.refine((answer) => scanEnrollAnswer(answer as JsonValue).ok),
});
/** bootstrap.json: the answer to the enrollment, secrets still sealed, and whom it was given to. */
export type Bootstrap = Omit<z.infer<typeof BootstrapDocument>, "format">;

/** Reads bootstrap.json. */
export function loadBootstrap(disk: Disk): Promise<Result<Found<Bootstrap>, DiskError>> {
  return readDocument(disk, BOOTSTRAP_FILE, jsonParser(BootstrapDocument));
}

/** Stores the answer durably. */
export function saveBootstrap(disk: Disk, bootstrap: Bootstrap): Promise<Result<void, DiskError>> {
  return writeDocument(disk, BOOTSTRAP_FILE, jsonBytes({ format: FORMAT, ...bootstrap }));
}
