import { printableOutput } from "../core/printable.ts";

/**
 * Writes all of `text` to a standard stream, with what steers a terminal spelt out: words of the portal,
 * the cluster and the disk are in nearly everything that is printed.
 */
export function print(stream: "stdout" | "stderr", text: string): void {
  draw(stream, printableOutput(text));
}

/**
 * Writes all of `text` as it is, colours and movements of the cursor too. What came from elsewhere must be
 * printable already. A reader that went away is no error of ours.
 */
export function draw(stream: "stdout" | "stderr", text: string): void {
  let bytes = new TextEncoder().encode(text);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(Deno[stream].writeSync(bytes));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
