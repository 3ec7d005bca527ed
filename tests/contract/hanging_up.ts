import type { SeenRequest } from "./http_contract.ts";
import { type RawHandler, writeText } from "./raw_peer.ts";

/**
 * Answers every other request and keeps the connection; reads the ones between to their end and closes
 * without a word. A request that is sent again in silence is then seen once more, and answered.
 */
export function hangingUp(see: (request: SeenRequest) => void): RawHandler {
  let count = 0;
  return async (connection, head) => {
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(65_536);
    let text = head;
    for (;;) {
      const request = parse(text);
      if (request !== null) {
        see(request);
        text = "";
        if (++count % 2 === 0) return;
        await writeText(connection, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
      }
      const length = await connection.read(buffer);
      if (length === null) return;
      text += decoder.decode(buffer.subarray(0, length), { stream: true });
    }
  };
}

/** One request, or null as long as it is not whole. Text bodies only, as the tests send them. */
function parse(text: string): SeenRequest | null {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  }));
  const body = new TextEncoder().encode(text.slice(end + 4));
  const isChunked = headers["transfer-encoding"] === "chunked";
  const isWhole = isChunked
    ? text.endsWith("0\r\n\r\n")
    : body.length >= Number(headers["content-length"] ?? 0);
  if (!isWhole) return null;
  const [method = "", target = ""] = first.split(" ");
  return { method, target, headers, body };
}
