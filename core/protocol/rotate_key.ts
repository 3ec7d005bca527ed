import * as z from "zod";
import { PublicKeys } from "./enroll.ts";

/** Body of `POST /rotate-key` (protocol §7), signed with the old key. */
export const RotateRequest = z.object({
  public_keys: PublicKeys,
  /** The new signing key's signature over {@link rotationProof}. */
  proof: z.string(),
});
export type RotateRequest = z.infer<typeof RotateRequest>;

/** The bytes that the new signing key signs, to prove that the agent holds it. */
export function rotationProof(agentId: string, keys: PublicKeys): Uint8Array {
  return new TextEncoder().encode(
    `pbx-rotate-v1\n${agentId}\n${keys.signing}\n${keys.sealing}`,
  );
}
