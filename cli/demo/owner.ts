/** The owner of the demo's cluster, with an OpenSSH key of their own and OpenSSH's own program. */
export interface DemoOwner {
  /** The line for `approval_keys`. */
  readonly publicKey: string;
  /** Signs a text with `ssh-keygen -Y sign`; gives the armored block. */
  sign(text: string): Promise<string>;
  remove(): Promise<void>;
}

/** Makes the owner and a key; null where OpenSSH is not installed. */
export async function makeDemoOwner(): Promise<DemoOwner | null> {
  const folder = await Deno.makeTempDir({ prefix: "pbx-demo-owner-" });
  const remove = () => Deno.remove(folder, { recursive: true });
  const key = `${folder}/id_ed25519`;
  try {
    await keygen("-q", "-t", "ed25519", "-N", "", "-C", "ada@example.com", "-f", key);
  } catch (error) {
    await remove();
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  return {
    publicKey: (await Deno.readTextFile(`${key}.pub`)).trim(),
    async sign(text) {
      const file = `${folder}/approval.txt`;
      await Deno.writeTextFile(file, text);
      await keygen("-Y", "sign", "-n", "pbx-approval", "-f", key, file);
      return await Deno.readTextFile(`${file}.sig`);
    },
    remove,
  };
}

async function keygen(...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("ssh-keygen", { args }).output();
  if (!success) throw new Error(`ssh-keygen ${args[0]}: ${new TextDecoder().decode(stderr)}`);
}
