import type { Dice } from "./fuzz.ts";

/** Sequences that strict UTF-8 refuses, and some that it takes. */
const SEQUENCES: readonly (readonly number[])[] = [
  [0xc0, 0xaf],
  [0xe0, 0x80, 0xaf],
  [0xf0, 0x80, 0x80, 0xaf],
  [0xed, 0xa0, 0x80],
  [0xf5, 0x80, 0x80, 0x80],
  [0xff],
  [0x80],
  [0xef, 0xbb, 0xbf],
  [0x00],
  [0x22],
  [0x7b],
  [0x0a],
];

/** `bytes` with one to four flips, cuts and insertions. */
export function mutateBytes(dice: Dice, bytes: Uint8Array): Uint8Array {
  let changed = bytes;
  for (let times = 1 + dice.below(4); times > 0; times--) changed = once(dice, changed);
  return changed;
}

function once(dice: Dice, bytes: Uint8Array): Uint8Array {
  const at = dice.below(bytes.length + 1);
  switch (dice.below(7)) {
    case 0: {
      const flipped = bytes.slice();
      const byte = flipped[at];
      if (byte !== undefined) flipped[at] = byte ^ (1 << dice.below(8));
      return flipped;
    }
    case 1:
      return bytes.slice(0, at);
    case 2:
      return bytes.slice(at);
    case 3:
      return join(bytes.slice(0, at), dice.pick(SEQUENCES), bytes.slice(at));
    case 4:
      return join(bytes.slice(0, at), dice.pick(SEQUENCES), bytes.slice(at + 1));
    case 5:
      return join(bytes.slice(0, at), bytes.slice(at + 1 + dice.below(40)));
    default:
      return join(bytes, bytes.slice(at));
  }
}

function join(...parts: readonly ArrayLike<number>[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
