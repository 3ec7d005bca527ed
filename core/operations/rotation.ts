import type { Result } from "../result.ts";

/** How a registration of new keys ended. */
export type Registration =
  | { readonly kind: "registered" }
  /** Try again after `ms`. */
  | { readonly kind: "later"; readonly ms: number; readonly why: string }
  /** `forGood`: the very same registration may not be sent again (protocol §1). */
  | { readonly kind: "refused"; readonly message: string; readonly forGood: boolean }
  | { readonly kind: "aborted" };

/** The agent's own keys, as far as their rotation needs them (protocol §7). */
export interface Rotation {
  /** Makes the next pairs and stores them, unless that was done before. Gives when they were made. */
  prepare(): Promise<Result<string, string>>;
  /** Asks the portal once to take the next pairs. It may be asked again and again. */
  register(): Promise<Registration>;
  /** Seals what is stored to the next pair, and makes it the one in use; the one before is kept. */
  takeOver(): Promise<Result<void, string>>;
  /** Whether a sync with the pair in use has succeeded since, so that the one before is gone. */
  isConfirmed(): boolean;
  /** Whether the portal has since taken the pair before and not this one, and has to be asked again. */
  isForgotten(): boolean;
  /** When the pair in use was made, RFC 3339. */
  createdAt(): string;
}
