/** A file that a patch changes. */
export interface FileChange {
  /** Relative to the patched folder. */
  readonly path: string;
  readonly blocks: readonly Block[];
}

/** Lines that stand in the file, and those that stand there afterwards. */
interface Block {
  readonly before: string;
  readonly after: string;
}

/** Reads a unified diff; text before the first file is left out. */
export function parsePatch(patch: string): readonly FileChange[] {
  const files: { path: string; blocks: { before: string; after: string }[] }[] = [];
  for (const line of patch.split("\n")) {
    const path = /^\+\+\+ b\/(\S+)/.exec(line)?.[1];
    if (path !== undefined) {
      files.push({ path, blocks: [] });
      continue;
    }
    const file = files.at(-1);
    if (file === undefined || line.startsWith("--- ")) continue;
    if (line.startsWith("@@")) {
      file.blocks.push({ before: "", after: "" });
      continue;
    }
    const block = file.blocks.at(-1);
    if (block === undefined || line === "") continue;
    const text = `${line.slice(1)}\n`;
    if (!line.startsWith("+")) block.before += text;
    if (!line.startsWith("-")) block.after += text;
  }
  return files;
}

/** The text with one file's change. Throws where the lines that it changes are not there exactly once. */
export function applyChange(text: string, { path, blocks }: FileChange): string {
  return blocks.reduce((now, { before, after }) => {
    const parts = now.split(before);
    if (parts.length === 2) return parts.join(after);
    const times = parts.length === 1 ? "are not there" : `are there ${parts.length - 1} times`;
    throw new Error(`${path}: the patch does not apply, its lines ${times}:\n${before}`);
  }, text);
}
