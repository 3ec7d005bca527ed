/** A line that is longer is handed on up to here, characters: no program that is run here needs more. */
const MAX_LINE = 4_096;

/**
 * The same stream, whose lines go to `onLine` as they pass; the last one too where nothing ends it. Of a
 * line without an end the beginning is handed on, up to the last blank in it: what is looked for in lines
 * (secrets, to be taken out) must not be in two of them.
 */
export function lined(
  stream: ReadableStream<Uint8Array>,
  onLine: ((line: string) => void) | undefined,
): ReadableStream<Uint8Array> {
  if (onLine === undefined) return stream;
  const decoder = new TextDecoder();
  let begun = "";
  let isCut = false;

  function take(text: string): void {
    const lines = (begun + text).split("\n");
    begun = lines.pop() ?? "";
    for (const line of lines) {
      if (!isCut) onLine?.(line);
      isCut = false;
    }
    if (begun.length > MAX_LINE) {
      if (!isCut) onLine?.(`${wholeWords(begun)} (the rest of this line is left out)`);
      isCut = true;
      begun = "";
    }
  }

  return stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        take(decoder.decode(chunk, { stream: true }));
        controller.enqueue(chunk);
      },
      flush() {
        take(decoder.decode());
        if (begun !== "" && !isCut) onLine?.(begun);
      },
    }),
  );
}

function wholeWords(line: string): string {
  const kept = line.slice(0, MAX_LINE);
  return kept.slice(0, Math.max(0, kept.lastIndexOf(" "), kept.lastIndexOf("\t")));
}
