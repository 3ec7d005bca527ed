/** Longest piece that is handed on as one line, characters. */
const MAX_LINE = 4_096;

/** The same stream, whose lines go to `onLine` as they pass; the last one too where nothing ends it. */
export function lined(
  stream: ReadableStream<Uint8Array>,
  onLine: ((line: string) => void) | undefined,
): ReadableStream<Uint8Array> {
  if (onLine === undefined) return stream;
  const decoder = new TextDecoder();
  let begun = "";

  function take(text: string): void {
    const lines = (begun + text).split("\n");
    begun = lines.pop() ?? "";
    for (const line of lines) onLine?.(line);
    if (begun.length > MAX_LINE) {
      onLine?.(begun);
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
        if (begun !== "") onLine?.(begun);
      },
    }),
  );
}
