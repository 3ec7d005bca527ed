/** Writes a file that others find whole or not at all; `mode` from its creation on. */
export async function writeWhole(path: string, text: string, mode = 0o644): Promise<void> {
  const temporary = `${path}.tmp`;
  await Deno.remove(temporary).catch(() => {});
  const file = await Deno.open(temporary, { write: true, createNew: true, mode });
  try {
    const bytes = new TextEncoder().encode(text);
    let written = 0;
    while (written < bytes.length) written += await file.write(bytes.subarray(written));
    await file.sync();
  } finally {
    file.close();
  }
  await Deno.rename(temporary, path);
}

/** The text of a file, or null where there is none. */
export async function readIfThere(path: string): Promise<string | null> {
  return await Deno.readTextFile(path).catch((error: unknown) => {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  });
}

/** A JSON document for people and programs. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
