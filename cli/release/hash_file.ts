import { createHash } from "node:crypto";

/** What a manifest says of a file: bytes and lower-case hex SHA-256 of the decoded file. */
export interface HashedFile {
  readonly sha256: string;
  readonly size: number;
}

/** Hashes a file of any size. */
export async function hashFile(path: string): Promise<HashedFile> {
  const file = await Deno.open(path);
  return await hashStream(file.readable);
}

/** Hashes what is inside a gzip file; `encodedSize` is what travels. */
export async function hashGzipFile(
  path: string,
): Promise<HashedFile & { readonly encodedSize: number }> {
  const file = await Deno.open(path);
  const { size: encodedSize } = await file.stat();
  const decoded = file.readable.pipeThrough(new DecompressionStream("gzip"));
  return { ...await hashStream(decoded), encodedSize };
}

async function hashStream(stream: ReadableStream<Uint8Array>): Promise<HashedFile> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { sha256: hash.digest("hex"), size };
}
