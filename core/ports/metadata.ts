import type { Result } from "../result.ts";
import type { HttpError } from "./http.ts";

/** The cloud's metadata service (Hetzner). */
export interface Metadata {
  /** The server's ID, decimal. `malformed`: an answer that is no such number. */
  instanceId(): Promise<Result<string, MetadataError>>;
}

/** Why the metadata service gave no ID. Early in a boot this is normal: try again. */
export type MetadataError =
  | HttpError
  | { readonly code: "malformed"; readonly message: string };
