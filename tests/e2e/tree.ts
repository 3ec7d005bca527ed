import { createHash } from "node:crypto";

/** The names in a folder, sorted. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
}

/** Where the stub programs of the machine write down what they were asked; nobody else writes there. */
const BOOKS = "/var/lib/fake-systemd";

/** Every file below a folder with its mode, size, time of change and content, as one text to compare. */
export async function treeOf(root: string): Promise<string> {
  const lines: string[] = [];
  async function walk(path: string): Promise<void> {
    if (path === BOOKS) return;
    const stat = await Deno.lstat(root + path).catch(() => null);
    if (stat === null) return void lines.push(`${path} is not there`);
    const mode = ((stat.mode ?? 0) & 0o7777).toString(8);
    const time = stat.mtime?.getTime();
    if (stat.isDirectory) {
      lines.push(`${path}/ ${mode} ${time}`);
      for (const name of await namesIn(root + path)) await walk(`${path}/${name}`);
    } else {
      if (stat.isSymlink) return void lines.push(`${path} -> ${await Deno.readLink(root + path)}`);
      const hash = createHash("sha256").update(await Deno.readFile(root + path)).digest("hex");
      lines.push(`${path} ${mode} ${time} ${hash}`);
    }
  }
  await walk("");
  return lines.join("\n");
}
