import type { ByteReader } from "./byte_reader.ts";
import type { WireRequest } from "./message.ts";

/** Longest request line with all headers, in bytes. */
const MAX_HEAD = 32 * 1024;
const MAX_HEADERS = 100;
/** Longest line around a chunk. */
const MAX_LINE = 16 * 1024;
/** So much of a body over the limit is still read, so that the refusal reaches the client. */
const MAX_SKIPPED = 8 * 1024 * 1024;

const REQUEST_LINE = /^([A-Z]{1,20}) ([\x21-\x7e]+) HTTP\/1\.[01]$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const BLANKS_AROUND = /^[ \t]+|[ \t]+$/g;

/** A request, or what to say to bytes that are none; the connection ends after that. */
export type ReadRequest =
  | { readonly kind: "request"; readonly request: WireRequest; readonly keepAlive: boolean }
  | { readonly kind: "rubbish"; readonly message: string }
  | { readonly kind: "end" };

/** Reads one HTTP/1.1 request; bodies by length or in chunks, at most `maxBody` bytes. */
export async function readRequest(
  reader: ByteReader,
  maxBody: number,
  sendContinue: () => Promise<void>,
): Promise<ReadRequest> {
  const head = await reader.head(MAX_HEAD);
  if (head === null) return { kind: "end" };
  const [, method, target] = REQUEST_LINE.exec(head[0] ?? "") ?? [];
  if (method === undefined || target === undefined) return rubbish("no HTTP/1.1 request line");
  const headers = headersOf(head);
  if (headers === null) return rubbish("the headers are broken or too many");
  if (headers.get("expect")?.toLowerCase() === "100-continue") await sendContinue();
  const body = await readBody(reader, headers, maxBody);
  if (body === null) return rubbish("the body is shorter than announced, or its length is unclear");
  return {
    kind: "request",
    request: { method, target, headers, body },
    keepAlive: headers.get("connection")?.toLowerCase() !== "close" && body !== "too_large",
  };
}

/** The headers of a head, whose first line is the request's; null where they are none. */
function headersOf(head: readonly string[]): Map<string, string> | null {
  if (head.length - 1 > MAX_HEADERS) return null;
  const headers = new Map<string, string>();
  for (const line of head.slice(1)) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    if (!HEADER_NAME.test(name)) return null;
    const value = line.slice(colon + 1).replace(BLANKS_AROUND, "");
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
}

async function readBody(
  reader: ByteReader,
  headers: ReadonlyMap<string, string>,
  maxBody: number,
): Promise<Uint8Array | "too_large" | null> {
  const length = headers.get("content-length");
  const coding = headers.get("transfer-encoding");
  if (coding !== undefined) {
    // Both at once is how requests are smuggled past one of two readers.
    if (length !== undefined || coding.toLowerCase() !== "chunked") return null;
    return await readChunks(reader, maxBody);
  }
  if (length === undefined) return new Uint8Array(0);
  if (!/^[0-9]{1,12}$/.test(length)) return null;
  const size = Number(length);
  if (size <= maxBody) return await reader.block(size);
  await reader.skip(Math.min(size, MAX_SKIPPED));
  return "too_large";
}

async function readChunks(
  reader: ByteReader,
  maxBody: number,
): Promise<Uint8Array | "too_large" | null> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const line = await reader.line(MAX_LINE);
    const size = /^([0-9A-Fa-f]{1,8})(?:;.*)?$/.exec(line ?? "")?.[1];
    if (size === undefined) return null;
    const length = parseInt(size, 16);
    if (length === 0) break;
    total += length;
    if (total > MAX_SKIPPED && total > maxBody) return "too_large";
    const chunk = await reader.block(length);
    if (chunk === null || await reader.line(2) !== "") return null;
    if (total <= maxBody) chunks.push(chunk);
  }
  while (await reader.line(MAX_LINE) !== "") {
    if (total++ > MAX_HEADERS + maxBody) return null;
  }
  if (total > maxBody) return "too_large";
  return joined(chunks);
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function rubbish(message: string): ReadRequest {
  return { kind: "rubbish", message };
}
