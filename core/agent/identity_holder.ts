import type { Disk, DiskError } from "../ports/disk.ts";
import type { KeyWork } from "../protocol/key_work.ts";
import { PUBLIC_KEYS_IN_SCRIPT } from "../protocol/public_keys.ts";
import type { SealingKey } from "../protocol/sealing.ts";
import type { Result } from "../result.ts";
import { type Binding, type Identity, type KeyPairs, saveIdentity } from "../state/identity.ts";
import { openTurns } from "../state/turns.ts";

/** The identity of an agent that has an ID. */
export type BoundIdentity = Identity & { readonly binding: Binding };

/** The identity while the agent runs: a rotation changes its keys. */
export interface IdentityHolder {
  readonly current: BoundIdentity;
  /** What opens sealed boxes: the current pair and, during a rotation, the other one. */
  readonly sealingKeys: readonly SealingKey[];
  /**
   * The last sync was taken by the pair before the one in use: the portal never took the one in use, or
   * lost it (protocol §7), and it has to be registered again.
   */
  isForgotten: boolean;
  /** Changes the identity only if the change is on disk. */
  change(to: (identity: BoundIdentity) => BoundIdentity): Promise<Result<void, DiskError>>;
}

/** Holds `identity`, which is on disk as it is. */
export function holdIdentity(
  disk: Disk,
  identity: BoundIdentity,
  keyWork: KeyWork = {},
): IdentityHolder {
  let current = identity;
  // An operation and a cycle may both complete a rotation.
  const inTurn = openTurns();
  let sealingKeys = sealingKeysOf(identity, keyWork);
  return {
    isForgotten: false,
    get current() {
      return current;
    },
    get sealingKeys() {
      return sealingKeys;
    },
    change: (to) =>
      inTurn(async () => {
        const wanted = to(current);
        const saved = await saveIdentity(disk, wanted);
        if (!saved.ok) return saved;
        current = wanted;
        sealingKeys = sealingKeysOf(wanted, keyWork);
        return saved;
      }),
  };
}

/** The pair in use and, while a rotation is under way, the other one that counts: the next or the one before. */
export function pairsOf({ keys, next, previous }: Identity): readonly KeyPairs[] {
  return [keys, next, previous].filter((pair) => pair !== undefined);
}

/** The keys that open boxes sealed to this identity. */
export function sealingKeysOf(
  identity: Identity,
  { openBox, publicKeys = PUBLIC_KEYS_IN_SCRIPT }: KeyWork = {},
): readonly SealingKey[] {
  return pairsOf(identity).map(({ sealing }) => ({
    secretKey: sealing,
    publicKey: publicKeys.sealing(sealing),
    ...(openBox === undefined ? {} : { openBox }),
  }));
}
