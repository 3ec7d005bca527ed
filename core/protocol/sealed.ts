import * as z from "zod";

/** A secret on the wire (protocol §2): a libsodium sealed box to the agent's X25519 key, base64. */
export const Sealed = z.strictObject({ sealed: z.string() });
export type Sealed = z.infer<typeof Sealed>;
