/** The owner of a cluster, with an OpenSSH key of their own and OpenSSH's own program. */
export interface Owner {
  /** The line for `approval_keys`. */
  readonly publicKey: string;
  /** The file with that line. */
  readonly publicKeyFile: string;
  /** Signs a text with `ssh-keygen -Y sign`; gives the armored block. */
  sign(text: string): Promise<string>;
  remove(): Promise<void>;
}

/** Makes the owner and a key; null where OpenSSH is not installed. */
export async function makeOwner(name = "ada@example.com"): Promise<Owner | null> {
  const folder = await Deno.makeTempDir({ prefix: "pbx-owner-" });
  const remove = () => Deno.remove(folder, { recursive: true });
  const key = `${folder}/id_ed25519`;
  try {
    await keygen("-q", "-t", "ed25519", "-N", "", "-C", name, "-f", key);
  } catch (error) {
    await remove();
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  const publicKeyFile = `${key}.pub`;
  return {
    publicKey: (await Deno.readTextFile(publicKeyFile)).trim(),
    publicKeyFile,
    async sign(text) {
      const file = `${folder}/approval.txt`;
      // ssh-keygen asks before it writes over a signature.
      await Deno.remove(`${file}.sig`).catch(() => {});
      await Deno.writeTextFile(file, text);
      await keygen("-Y", "sign", "-n", "pbx-approval", "-f", key, file);
      return await Deno.readTextFile(`${file}.sig`);
    },
    remove,
  };
}

/** So many seconds from now, as an approval says when it expires. */
export function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1_000).toISOString().replace(/\.[0-9]+Z$/, "Z");
}

async function keygen(...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("ssh-keygen", { args }).output();
  if (!success) throw new Error(`ssh-keygen ${args[0]}: ${new TextDecoder().decode(stderr)}`);
}
