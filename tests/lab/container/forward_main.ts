/**
 * Takes connections on ports of 127.0.0.1 and joins each to a socket file: what listens outside a network
 * namespace is so reached from inside it. Arguments: PORT SOCKET, any number of times. Prints `ready`.
 */
for (let index = 0; index + 1 < Deno.args.length; index += 2) {
  const [port, socket = ""] = Deno.args.slice(index, index + 2);
  void forward(Deno.listen({ hostname: "127.0.0.1", port: Number(port) }), socket);
}
await Deno.stdout.write(new TextEncoder().encode("ready\n"));

async function forward(listener: Deno.Listener, socket: string): Promise<void> {
  for await (const here of listener) void join(here, socket);
}

async function join(here: Deno.Conn, socket: string): Promise<void> {
  try {
    const there = await Deno.connect({ transport: "unix", path: socket });
    await Promise.allSettled([
      here.readable.pipeTo(there.writable),
      there.readable.pipeTo(here.writable),
    ]);
  } catch {
    here.close();
  }
}
