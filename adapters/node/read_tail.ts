/**
 * The last `maxBytes` of a stream as text. Reads on to the end whatever the length, so that the writer
 * never blocks, and holds at most twice as much as it keeps.
 *
 * @param signal ends the reading with what is there
 */
export async function readTail(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  const reader = stream.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel);
  let tail = new Uint8Array();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      tail = appended(tail, value, maxBytes);
    }
  } catch {
    // A broken pipe ends an output like its end does.
  } finally {
    signal.removeEventListener("abort", cancel);
  }
  return new TextDecoder().decode(tail);
}

function appended(tail: Uint8Array, more: Uint8Array, maxBytes: number): Uint8Array<ArrayBuffer> {
  const kept = more.subarray(Math.max(0, more.length - maxBytes));
  const before = tail.subarray(Math.max(0, tail.length + kept.length - maxBytes));
  const joined = new Uint8Array(before.length + kept.length);
  joined.set(before);
  joined.set(kept, before.length);
  return joined;
}
