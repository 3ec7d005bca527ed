/** Randomness, as a port. */
export interface Random {
  /** `length` bytes fit for keys. */
  bytes(length: number): Uint8Array;
  /** A number in [0, 1), fit for jitter, not for keys. */
  fraction(): number;
}
