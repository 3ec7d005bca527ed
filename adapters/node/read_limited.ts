/**
 * The whole of a stream, or null where it is longer than `maxBytes`; then it is cancelled, so that no
 * more than one chunk over the limit is ever held. Throws what the stream throws.
 *
 * @param signal ends the reading with null, whether the stream knows of the signal or not
 */
export async function readLimited(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  const reader = stream.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    while (!signal.aborted) {
      const { done, value } = await reader.read();
      if (done) return signal.aborted ? null : joined(chunks, length);
      length += value.length;
      if (length > maxBytes) break;
      chunks.push(value);
    }
    cancel();
    return null;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** The pieces as one, `length` bytes together. */
export function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
