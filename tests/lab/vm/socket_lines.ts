import { waitUntil } from "../wait_until.ts";

/** A local socket on which both sides speak in lines. */
export interface SocketLines {
  send(line: string): Promise<void>;
  close(): void;
}

/** Connects to a socket that a program is about to open; `onLine` hears every whole line. */
export async function connectLines(
  path: string,
  onLine: (line: string) => void,
): Promise<SocketLines> {
  const connection = await waitUntil(`the socket ${path}`, async () => {
    return await Deno.connect({ transport: "unix", path });
  }, { timeoutMs: 10_000, everyMs: 20 });
  void readLines(connection.readable, onLine);
  const encoder = new TextEncoder();
  let sent: Promise<void> = Promise.resolve();
  return {
    // One after the other, each whole.
    send: (line) => sent = sent.then(() => writeAll(connection, encoder.encode(`${line}\n`))),
    close() {
      try {
        connection.close();
      } catch {
        // The other side was faster.
      }
    },
  };
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += await connection.write(bytes.subarray(done));
  }
}

/** Calls `onLine` for every whole line until the stream ends; its failure is its end. */
export async function readLines(
  stream: ReadableStream<Uint8Array>,
  onLine: (line: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of stream) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split(/\r*\n/);
      rest = parts.pop() ?? "";
      for (const line of parts) onLine(line);
    }
  } catch {
    // The other side was ended.
  }
  if (rest !== "") onLine(rest);
}
