/** A port on 127.0.0.1 that nobody listens on now, for programs that cannot choose their own. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
