/** Writes all of `text` to a standard stream. A reader that went away is no error of ours. */
export function print(stream: "stdout" | "stderr", text: string): void {
  let bytes = new TextEncoder().encode(text);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(Deno[stream].writeSync(bytes));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
