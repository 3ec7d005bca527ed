import { type RawAnswer, readAnswer } from "./answer_reader.ts";

/** A connection to the portal that carries one request after the other. */
export interface Connection {
  /** Sends a request and reads its answer. `cut` also where the connection had just ended. */
  exchange(request: Uint8Array, maxBytes: number): Promise<RawAnswer | "too_large" | "cut">;
  /** It waits for a request, and the portal has not ended it. */
  isFree(): boolean;
  /** Ends it, and whatever waits for it with `cut`. */
  close(): void;
}

/** Most answers to a sync fit: an idle connection of tens of thousands holds no more than this. */
const IDLE_BUFFER = 512;
const BUSY_BUFFER = 4 * 1024;

/**
 * A connection on an open socket. While it is idle a read waits, as clients with a pool do: so that the
 * end of a connection is seen before a request is sent into it.
 */
export function createConnection(socket: Deno.Conn): Connection {
  let isOpen = true;
  let isBusy = false;
  let reading: Promise<Uint8Array | null> | null = null;
  // What a read brings is only in use until the answer is whole, so the next idle one may have it again.
  const idle = new Uint8Array(IDLE_BUFFER);

  function read(into: () => Uint8Array): Promise<Uint8Array | null> {
    reading ??= readSome(into());
    return reading;
  }

  async function readSome(into: Uint8Array): Promise<Uint8Array | null> {
    let count: number | null = null;
    try {
      count = await socket.read(into);
    } catch {
      // Reset or closed: the end, like any other.
    }
    reading = null;
    // Nobody asked for anything: an end, or bytes that belong to no request.
    if (!isBusy || count === null) close();
    return count === null ? null : into.subarray(0, count);
  }

  function close(): void {
    if (!isOpen) return;
    isOpen = false;
    try {
      socket.close();
    } catch {
      // The runtime has closed it already.
    }
  }

  return {
    isFree: () => isOpen && !isBusy,
    close,
    async exchange(request, maxBytes) {
      isBusy = true;
      const answer = await send(socket, request)
        ? await readAnswer(() => read(() => new Uint8Array(BUSY_BUFFER)), maxBytes)
        : "cut";
      isBusy = false;
      if (typeof answer === "string" || !answer.keepAlive) close();
      else void read(() => idle);
      return answer;
    },
  };
}

async function send(socket: Deno.Conn, bytes: Uint8Array): Promise<boolean> {
  try {
    for (let sent = 0; sent < bytes.length;) sent += await socket.write(bytes.subarray(sent));
    return true;
  } catch {
    return false;
  }
}
