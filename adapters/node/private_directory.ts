import { createRoot } from "./root.ts";

/**
 * Leaves a folder that is there to its owner alone: whoever installed the program below it (cloud-init
 * does) may have made it with the usual rights. Null, or what went wrong.
 */
export async function makePrivate(
  path: string,
  mode: number,
  options: { readonly root?: string } = {},
): Promise<string | null> {
  const real = createRoot(options.root)(path);
  try {
    const { mode: found } = await Deno.stat(real);
    if (found !== null && (found & 0o777) !== mode) await Deno.chmod(real, mode);
    return null;
  } catch (error) {
    return `${path} cannot be given mode ${mode.toString(8)}: ${
      error instanceof Error ? error.message : String(error)
    }`;
  }
}
