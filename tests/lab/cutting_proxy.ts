/** A TCP proxy on 127.0.0.1 that misbehaves on demand. */
export interface CuttingProxy {
  readonly port: number;
  /** How many bytes a connection carries to the client before it is closed; null for no limit. */
  cutAfter: number | null;
  /** New connections are taken and then nothing comes. */
  isSilent: boolean;
  /** Connections taken so far. */
  readonly connections: number;
  close(): Promise<void>;
}

/** Starts a proxy to a port of 127.0.0.1. */
export function startCuttingProxy(targetPort: number): CuttingProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  let connections = 0;

  function close(connection: Deno.TcpConn): void {
    if (open.delete(connection)) connection.close();
  }

  async function relay(client: Deno.TcpConn): Promise<void> {
    if (proxy.isSilent) return await discard(client);
    const server = await Deno.connect({ hostname: "127.0.0.1", port: targetPort });
    open.add(server);
    const both = [copy(client, server, null), copy(server, client, proxy.cutAfter)];
    await Promise.race(both);
    close(server);
    close(client);
    await Promise.all(both);
  }

  const served: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const connection of listener) {
      connections++;
      open.add(connection);
      served.push(relay(connection).catch(() => {}).finally(() => close(connection)));
    }
  })();

  const proxy: CuttingProxy = {
    port: listener.addr.port,
    cutAfter: null,
    isSilent: false,
    get connections() {
      return connections;
    },
    close: async () => {
      listener.close();
      for (const connection of [...open]) close(connection);
      await accepting;
      await Promise.all(served);
    },
  };
  return proxy;
}

/** Copies until either side ends or `limit` bytes are through. Never rejects. */
async function copy(from: Deno.TcpConn, to: Deno.TcpConn, limit: number | null): Promise<void> {
  const buffer = new Uint8Array(65_536);
  let left = limit ?? Infinity;
  try {
    while (left > 0) {
      const length = await from.read(buffer);
      if (length === null) return;
      const chunk = buffer.subarray(0, Math.min(length, left));
      for (let at = 0; at < chunk.length;) at += await to.write(chunk.subarray(at));
      left -= chunk.length;
    }
  } catch {
    // One of the two was closed.
  }
}

async function discard(connection: Deno.TcpConn): Promise<void> {
  const buffer = new Uint8Array(4_096);
  while (await connection.read(buffer) !== null);
}
