/** The boot image that really booted, as far as the node can tell for sure. */
export interface BootedImage {
  /** Boot entry id, for example `pbx-1.4.0-amd64.efi`; null when unknown. */
  readonly entry: string | null;
  /** Lower-case hex SHA-256 of the image on the ESP; null when it cannot be known for sure. */
  readonly sha256: string | null;
}

/**
 * The boot loader. Staging entries, one-shot boots and defaults come with `cluster.upgrade`, which is
 * not implemented.
 */
export interface Boot {
  /** Never fails: what cannot be read is unknown, and unknown is never reported as a match. */
  booted(): Promise<BootedImage>;
}
