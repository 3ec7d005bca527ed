import { createHash } from "node:crypto";
import { crc32, deflateRawSync } from "node:zlib";

/** What a made-up snapshot holds. */
export interface SnapshotContent {
  /** Tokens that k3s's certificates are kept under in it. */
  readonly tokens?: readonly string[];
  /** Version of k3s that its Node tells. */
  readonly k3sVersion?: string;
  /** Any other text in it, such as the UID of a namespace. */
  readonly texts?: readonly string[];
  /** Pages of 4096 bytes; 4 unless told. */
  readonly pages?: number;
}

const PAGE = 4096;

/** The bytes of a plain snapshot in etcd's form: a bbolt header, pages, the SHA-256 of all that. */
export function snapshotBytes(content: SnapshotContent = {}): Uint8Array<ArrayBuffer> {
  const { tokens = [], k3sVersion, texts = [], pages = 4 } = content;
  const database = new Uint8Array(pages * PAGE);
  const view = new DataView(database.buffer);
  view.setUint32(16, 0xed0cdaed, true);
  view.setUint32(20, 2, true);
  view.setUint32(24, PAGE, true);
  const version = k3sVersion ?? "";
  const node = `\x3a${String.fromCharCode(version.length)}${version}\x42\x00`;
  const words = [
    ...tokens.map((token) => `/bootstrap/${tokenHash(token)}\x12`),
    ...(k3sVersion === undefined ? [] : [node]),
    ...texts,
  ];
  // Across the border of two pages, where a search piece by piece could miss it.
  let at = PAGE - 5;
  for (const word of words) {
    database.set(new TextEncoder().encode(word), at);
    at += word.length + 64;
  }
  const hash = createHash("sha256").update(database).digest();
  const whole = new Uint8Array(database.length + hash.length);
  whole.set(database);
  whole.set(hash, database.length);
  return whole;
}

/** How k3s calls a token without telling it: the first 12 hex digits of its password's SHA-256. */
export function tokenHash(password: string): string {
  return createHash("sha256").update(password).digest("hex").slice(0, 12);
}

/** Files in a zip; with a wrong `crc` or `size` for tests of damage. */
export function zipBytes(
  files: readonly { readonly name: string; readonly bytes: Uint8Array; readonly size?: number }[],
  { store = false, wrongCrc = false } = {},
): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const { name, bytes, size = bytes.length } of files) {
    const packed = store ? bytes : new Uint8Array(deflateRawSync(bytes));
    const crc = crc32(bytes) ^ (wrongCrc ? 1 : 0);
    const file = new TextEncoder().encode(name);
    const header = record(0x04034b50, [20, 0, store ? 0 : 8, 0, 0], [crc, packed.length, size], [
      file.length,
      0,
    ]);
    directory.push(
      record(0x02014b50, [20, 20, 0, store ? 0 : 8, 0, 0], [crc, packed.length, size], [
        file.length,
        ...[0, 0, 0, 0, 0, 0],
      ], [offset]),
      file,
    );
    parts.push(header, file, packed);
    offset += header.length + file.length + packed.length;
  }
  const length = directory.reduce((sum, part) => sum + part.length, 0);
  const end = record(0x06054b50, [0, 0, files.length, files.length], [length, offset], [0]);
  return joined([...parts, ...directory, end]);
}

/** A record of a zip: its mark, then numbers of 16 and 32 bits in turns. */
function record(mark: number, ...numbers: readonly (readonly number[])[]): Uint8Array {
  const parts = numbers.map((group, index) => {
    const wide = index % 2 === 1;
    const bytes = new Uint8Array(group.length * (wide ? 4 : 2));
    const view = new DataView(bytes.buffer);
    group.forEach((value, at) =>
      wide ? view.setUint32(at * 4, value >>> 0, true) : view.setUint16(at * 2, value, true)
    );
    return bytes;
  });
  const first = new Uint8Array(4);
  new DataView(first.buffer).setUint32(0, mark, true);
  return joined([first, ...parts]);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}
