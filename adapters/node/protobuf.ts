/** A message of Protocol Buffers with one unsigned number of up to 64 bits in it. */
export function numberMessage(field: number, value: bigint): Uint8Array {
  const bytes = [field << 3];
  for (let rest = value; rest >= 0n;) {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    if (rest === 0n) {
      bytes.push(low);
      break;
    }
    bytes.push(low | 0x80);
  }
  return new Uint8Array(bytes);
}

/** The number in a field of a message; 0 where the field is not there, null where it is no message. */
export function numberIn(message: Uint8Array, field: number): bigint | null {
  let at = 0;
  const varint = (): bigint | null => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) return null;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return null;
  };
  while (at < message.length) {
    const key = varint();
    if (key === null) return null;
    const kind = Number(key & 7n);
    const value = kind === 0 || kind === 2 ? varint() : kind === 1 ? 8n : kind === 5 ? 4n : null;
    if (value === null) return null;
    if (kind === 0 && key >> 3n === BigInt(field)) return value;
    if (kind !== 0) at += Number(value);
  }
  return at === message.length ? 0n : null;
}
