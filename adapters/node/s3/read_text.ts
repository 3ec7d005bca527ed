import { ok, type Result } from "../../../core/result.ts";
import type { Answer, Interruption } from "./exchange.ts";

/** The whole body as text, or null where it is longer than `maxBytes`; it is not read further then. */
export async function readText(
  answer: Answer,
  maxBytes: number,
): Promise<Result<string | null, Interruption>> {
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  for (;;) {
    const chunk = await answer.read();
    if (!chunk.ok) return chunk;
    if (chunk.value === null) return ok(text + decoder.decode());
    length += chunk.value.length;
    if (length > maxBytes) return ok(null);
    text += decoder.decode(chunk.value, { stream: true });
  }
}
