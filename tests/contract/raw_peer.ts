/** A TCP listener that speaks no HTTP of its own. */
export interface RawPeer {
  readonly port: number;
  close(): Promise<void>;
}

/** What to do with a connection whose first bytes came. The connection is closed when it resolves. */
export type RawHandler = (connection: Deno.TcpConn, head: string) => Promise<void>;

/** Listens on loopback and hands every connection to `handle`; `close` ends those still open. */
export function startRawPeer(handle: RawHandler): RawPeer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const close = (connection: Deno.TcpConn) => {
    if (open.delete(connection)) connection.close();
  };

  async function serve(connection: Deno.TcpConn): Promise<void> {
    try {
      const buffer = new Uint8Array(65_536);
      const length = await connection.read(buffer);
      await handle(connection, new TextDecoder().decode(buffer.subarray(0, length ?? 0)));
    } catch {
      // The client went away, which many tests are about.
    } finally {
      close(connection);
    }
  }

  const served: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const connection of listener) {
      open.add(connection);
      served.push(serve(connection));
    }
  })();
  return {
    port: listener.addr.port,
    async close() {
      listener.close();
      for (const connection of [...open]) close(connection);
      await accepting;
      await Promise.all(served);
    },
  };
}

/** Writes all of `text`. */
export async function writeText(connection: Deno.TcpConn, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** Resolves when the other side closes. */
export async function untilClosed(connection: Deno.TcpConn): Promise<void> {
  const buffer = new Uint8Array(4_096);
  while (await connection.read(buffer) !== null);
}
