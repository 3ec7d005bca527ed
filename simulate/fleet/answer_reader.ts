import { Buffer } from "node:buffer";

/** An answer as it came over the wire, its body still encoded. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case; a header sent twice is joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The connection may carry another request. */
  readonly keepAlive: boolean;
}

/** Where the bytes come from: the next ones, or null at the end. */
export type NextBytes = () => Promise<Uint8Array | null>;

const MAX_HEAD = 64 * 1024;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: |$)/;

/**
 * Reads one answer of HTTP/1.1. `too_large`: its body is over `maxBytes` as sent. `cut`: the connection
 * ended in the middle, or what came is no HTTP.
 */
export async function readAnswer(
  next: NextBytes,
  maxBytes: number,
): Promise<RawAnswer | "too_large" | "cut"> {
  const reader = openBuffer(next);
  while (true) {
    const head = await reader.head();
    if (head === null) return "cut";
    const [first = "", ...lines] = head.split("\r\n");
    const [, minor, status] = STATUS_LINE.exec(first) ?? [];
    if (status === undefined) return "cut";
    if (status.startsWith("1")) continue;
    const headers = headersOf(lines);
    if (headers === null) return "cut";
    const body = await readBody(reader, Number(status), headers, maxBytes);
    if (body === "cut" || body === "too_large") return body;
    const connection = headers["connection"]?.toLowerCase() ?? "";
    const keepAlive = body.delimited && !reader.hasMore() &&
      (minor === "1" ? !connection.includes("close") : connection.includes("keep-alive"));
    return { status: Number(status), headers, body: body.bytes, keepAlive };
  }
}

function headersOf(lines: readonly string[]): Record<string, string> | null {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon <= 0) return null;
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}

type Body = { readonly bytes: Uint8Array; readonly delimited: boolean };

async function readBody(
  reader: Buffered,
  status: number,
  headers: Readonly<Record<string, string>>,
  maxBytes: number,
): Promise<Body | "too_large" | "cut"> {
  if (status === 204 || status === 304) return { bytes: new Uint8Array(), delimited: true };
  if (headers["transfer-encoding"] !== undefined) {
    if (headers["transfer-encoding"].toLowerCase() !== "chunked") return "cut";
    return await readChunks(reader, maxBytes);
  }
  const length = headers["content-length"];
  if (length === undefined) {
    const bytes = await reader.rest(maxBytes);
    return bytes === null ? "too_large" : { bytes, delimited: false };
  }
  if (!/^[0-9]{1,15}$/.test(length)) return "cut";
  if (Number(length) > maxBytes) return "too_large";
  const bytes = await reader.block(Number(length));
  return bytes === null ? "cut" : { bytes, delimited: true };
}

async function readChunks(reader: Buffered, maxBytes: number): Promise<Body | "too_large" | "cut"> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  while (true) {
    const size = /^([0-9A-Fa-f]{1,8})(?:;.*)?$/.exec(await reader.line() ?? "")?.[1];
    if (size === undefined) return "cut";
    const length = parseInt(size, 16);
    if (length === 0) break;
    total += length;
    if (total > maxBytes) return "too_large";
    const chunk = await reader.block(length);
    if (chunk === null || await reader.line() !== "") return "cut";
    chunks.push(chunk);
  }
  for (let line = await reader.line(); line !== ""; line = await reader.line()) {
    if (line === null) return "cut";
  }
  return { bytes: joined(chunks, total), delimited: true };
}

interface Buffered {
  /** Up to and without the next empty line. */
  head(): Promise<string | null>;
  /** Up to and without the next CR LF. */
  line(): Promise<string | null>;
  block(length: number): Promise<Uint8Array | null>;
  /** All that comes until the end; null where that is more than `limit` bytes. */
  rest(limit: number): Promise<Uint8Array | null>;
  /** Bytes came that nobody asked for. */
  hasMore(): boolean;
}

function openBuffer(next: NextBytes): Buffered {
  let buffer: Uint8Array = new Uint8Array(0);

  async function fill(): Promise<boolean> {
    const chunk = await next();
    if (chunk === null) return false;
    buffer = buffer.length === 0 ? chunk : joined([buffer, chunk], buffer.length + chunk.length);
    return true;
  }

  async function until(mark: string): Promise<string | null> {
    while (true) {
      const end = find(buffer, mark);
      if (end > MAX_HEAD || (end < 0 && buffer.length > MAX_HEAD)) return null;
      if (end >= 0) {
        const text = latin1(buffer.subarray(0, end));
        buffer = buffer.subarray(end + mark.length);
        return text;
      }
      if (!await fill()) return null;
    }
  }

  return {
    head: () => until("\r\n\r\n"),
    line: () => until("\r\n"),
    async block(length) {
      while (buffer.length < length) if (!await fill()) return null;
      const taken = buffer.slice(0, length);
      buffer = buffer.subarray(length);
      return taken;
    },
    async rest(limit) {
      while (buffer.length <= limit) {
        if (!await fill()) return buffer.slice();
      }
      return null;
    },
    hasMore: () => buffer.length > 0,
  };
}

/** Where `mark`, which begins with a CR, is in `bytes`; -1 where it is not. */
function find(bytes: Uint8Array, mark: string): number {
  for (let at = bytes.indexOf(13); at >= 0; at = bytes.indexOf(13, at + 1)) {
    let length = 1;
    while (length < mark.length && bytes[at + length] === mark.charCodeAt(length)) length += 1;
    if (length === mark.length) return at;
  }
  return -1;
}

function latin1({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString("latin1");
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
