import { createByteReader } from "./byte_reader.ts";
import { type Answer, refuse, type Reply, type WireRequest } from "./message.ts";
import { readRequest } from "./read_request.ts";

/** Connections that may wait to be taken: a fleet that comes back after an outage comes at once. */
const BACKLOG = 4096;

/** What the runtime says where the process, or the machine, may not open more. */
const TOO_MANY = /\(os error (?:23|24)\)/;

/** How to listen. Always on 127.0.0.1. */
export interface ListenOptions {
  /** 0: any free port. */
  readonly port: number;
  /** Certificate and key in PEM; without them plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Longest body that is handed on, in bytes. */
  readonly maxBody: number;
  /** Milliseconds since the epoch, for the `Date` header. */
  readonly now: () => number;
  readonly handle: (request: WireRequest) => Promise<Reply>;
  /** Connections are waiting that cannot be taken, for too many are open; resolves when to try again. */
  readonly full: () => Promise<void>;
}

/** A server that can go away and come back on the same port. */
export interface Listener {
  readonly port: number;
  /** Refuses connections and ends those that are open. */
  down(): Promise<void>;
  /** Listens again. */
  up(): void;
}

/**
 * A small HTTP/1.1 server. The runtime's own one cannot end a connection without an answer or in the
 * middle of one, which is what a fake portal is for, and it does not show the path as it was sent.
 */
export function listen(options: ListenOptions): Listener {
  const open = new Set<Deno.Conn>();
  const running = new Set<Promise<void>>();
  let listener: Deno.Listener | null = null;
  let port = options.port;

  const start = (): void => {
    const address = { hostname: "127.0.0.1", port, tcpBacklog: BACKLOG };
    const started = options.tls === undefined
      ? Deno.listen(address)
      : Deno.listenTls({ ...address, ...options.tls });
    listener = started;
    port = (started.addr as Deno.NetAddr).port;
    track(running, accept(started));
  };
  const accept = async (source: Deno.Listener): Promise<void> => {
    for (;;) {
      let connection: Deno.Conn;
      try {
        connection = await source.accept();
      } catch (error) {
        if (source !== listener) return;
        // A failed handshake ends one connection, not the server.
        if (error instanceof Deno.errors.BadResource) return;
        if (error instanceof Error && TOO_MANY.test(error.message)) await options.full();
        continue;
      }
      open.add(connection);
      track(running, converse(connection, options).finally(() => end(open, connection)));
    }
  };
  start();
  return {
    get port() {
      return port;
    },
    async down() {
      const stopping = listener;
      listener = null;
      stopping?.close();
      for (const connection of open) end(open, connection);
      await Promise.allSettled([...running]);
    },
    up() {
      if (listener === null) start();
    },
  };
}

async function converse(connection: Deno.Conn, options: ListenOptions): Promise<void> {
  const reader = createByteReader(connection);
  const goOn = () =>
    writeAll(connection, new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n"));
  try {
    for (;;) {
      const read = await readRequest(reader, options.maxBody, goOn);
      if (read.kind === "end") return;
      if (read.kind === "rubbish") {
        const answer = refuse(400, "invalid_request", read.message);
        return await writeAll(connection, encode(answer, options.now(), false, ""));
      }
      const reply = await options.handle(read.request);
      if (reply.kind === "cut") return;
      const { method } = read.request;
      const bytes = encode(reply.answer, options.now(), read.keepAlive, method);
      if (reply.kind === "half") {
        const missing = Math.ceil(reply.answer.body.length / 2);
        return await writeAll(connection, bytes.subarray(0, bytes.length - missing));
      }
      await writeAll(connection, bytes);
      if (!read.keepAlive) return;
    }
  } catch {
    // The client went away, or the server is going down: nobody is left to tell.
  }
}

function encode(answer: Answer, now: number, keepAlive: boolean, method: string): Uint8Array {
  const lines = [`HTTP/1.1 ${answer.status} ${answer.status < 400 ? "OK" : "Refused"}`];
  const headers: Record<string, string> = {
    date: new Date(now).toUTCString(),
    "content-length": String(answer.body.length),
    connection: keepAlive ? "keep-alive" : "close",
    ...answer.headers,
  };
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  const head = lines.join("\r\n") + "\r\n\r\n";
  const body = method === "HEAD" ? new Uint8Array(0) : answer.body;
  // Names and values of headers are ASCII.
  const bytes = new Uint8Array(head.length + body.length);
  new TextEncoder().encodeInto(head, bytes);
  bytes.set(body, head.length);
  return bytes;
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += await connection.write(bytes.subarray(written));
}

function end(open: Set<Deno.Conn>, connection: Deno.Conn): void {
  if (!open.delete(connection)) return;
  try {
    connection.close();
  } catch {
    // Closed by the other side already.
  }
}

function track(running: Set<Promise<void>>, task: Promise<void>): void {
  const tracked = task.finally(() => running.delete(tracked));
  running.add(tracked);
}
