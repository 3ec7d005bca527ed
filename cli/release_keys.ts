/**
 * The release keys of the shipped program: Ed25519 public keys, 32 bytes each. The sources have none, so
 * a program made from them as they are refuses every manifest; a build writes its own in here.
 */
export function builtInReleaseKeys(): readonly Uint8Array[] {
  return [];
}
