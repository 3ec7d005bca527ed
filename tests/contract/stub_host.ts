/** A root folder (`--root`) of files and stub programs. */
export interface StubHost {
  readonly root: string;
  /** Writes an executable at a host path. `script` is what follows the `#!` line. */
  program(path: string, script: string): Promise<void>;
  /** The text of a host file, empty where there is none. */
  text(path: string): Promise<string>;
  write(path: string, content: string | Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** Makes an empty root in the temporary folder. */
export async function openStubHost(): Promise<StubHost> {
  const root = await Deno.makeTempDir({ prefix: "pbx-host-" });
  const write = async (path: string, content: string | Uint8Array) => {
    await Deno.mkdir(root + path.slice(0, path.lastIndexOf("/")), { recursive: true });
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await Deno.writeFile(root + path, bytes);
  };
  return {
    root,
    write,
    async program(path, script) {
      await write(path, `#!/bin/sh\n${script}\n`);
      await Deno.chmod(root + path, 0o755);
    },
    text: (path) => Deno.readTextFile(root + path).catch(() => ""),
    close: () => Deno.remove(root, { recursive: true }),
  };
}
