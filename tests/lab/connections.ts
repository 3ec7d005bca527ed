/** Established connections of this process to a port of 127.0.0.1, as clients. */
export async function connectionsTo(port: number): Promise<number> {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const own = new Set<string>();
  for await (const { name } of Deno.readDir("/proc/self/fd")) {
    const target = await Deno.readLink(`/proc/self/fd/${name}`).catch(() => "");
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode !== undefined) own.add(inode);
  }
  const rows = (await Deno.readTextFile("/proc/self/net/tcp")).split("\n")
    .map((row) => row.trim().split(/\s+/));
  return rows.filter((row) => row[2] === remote && own.has(row[9] ?? "")).length;
}
