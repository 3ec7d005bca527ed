import type { Clock } from "../../../core/ports/clock.ts";
import { fail, ok, type Result } from "../../../core/result.ts";
import { faultOf } from "../http_error.ts";

const CHUNK_BYTES = 256 * 1024;
const LANDING_BYTES = 64 * 1024;

/** Why bytes stopped coming, in words without a credential. */
export interface Interruption {
  readonly code: "unreachable" | "stopped";
  readonly what: string;
}

const STOPPED: Interruption = { code: "stopped", what: "ended by the agent" };

/** An answer whose body is read chunk by chunk. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /**
   * The next chunk, or null at the end; its memory is the next one's too. The time between two reads is
   * nobody's silence. What came before an interruption is handed out first.
   */
  read(): Promise<Result<Uint8Array | null, Interruption>>;
  /** Ends the exchange, read to its end or not. Repeats are harmless. */
  close(): void;
}

/** What an exchange is made of. */
export interface Sending {
  readonly method: "GET" | "HEAD";
  readonly headers: Headers;
  readonly client: Deno.HttpClient;
  readonly clock: Clock;
  /** How long no byte may come while one is waited for, milliseconds. */
  readonly silenceMs: number;
  readonly signal?: AbortSignal;
}

/** Sends a request and waits for the headers of the answer. Never rejects. */
export async function exchange(url: URL, sending: Sending): Promise<Result<Answer, Interruption>> {
  const { method, headers, client, signal } = sending;
  if (signal?.aborted) return fail(STOPPED);
  const stop = new AbortController();
  const patience = startPatience(sending, () => stop.abort());
  const init = { method, headers, client, redirect: "manual", signal: stop.signal } as const;
  const response = await patience.wait(fetch(url, init), url);
  if (!response.ok) {
    patience.end();
    return response;
  }
  const { status, body } = response.value;
  const reader = body?.getReader({ mode: "byob" });
  return ok({
    status,
    headers: response.value.headers,
    read: reader === undefined
      ? () => Promise.resolve(ok(null))
      : inChunks(reader, (work) => patience.wait(work, url)),
    close: () => {
      patience.end();
      reader?.cancel().catch(() => {});
      stop.abort();
    },
  });
}

/**
 * Reads a body in chunks of {@link CHUNK_BYTES}, into memory that is used again and again. Servers send
 * as little as 4 KB at a time; a buffer for each was measured to take four times as long and 80 MB more
 * for one GB.
 */
function inChunks(
  reader: ReadableStreamBYOBReader,
  wait: <T>(work: Promise<T>) => Promise<Result<T, Interruption>>,
): Answer["read"] {
  const chunk = new Uint8Array(CHUNK_BYTES);
  // Apart from the chunk, because a read that fails takes its buffer with it.
  let landing = new Uint8Array(LANDING_BYTES);
  let end: Result<null, Interruption> | null = null;
  return async () => {
    let filled = 0;
    while (end === null && filled + LANDING_BYTES <= CHUNK_BYTES) {
      const read = await wait(reader.read(landing));
      if (!read.ok) {
        end = read;
        if (read.error.code === "stopped") return read;
      } else if (read.value.value === undefined || read.value.done) end = ok(null);
      else {
        chunk.set(read.value.value, filled);
        filled += read.value.value.length;
        landing = new Uint8Array(read.value.value.buffer);
      }
    }
    return filled === 0 && end !== null ? end : ok(chunk.subarray(0, filled));
  };
}

interface Patience {
  /** The outcome of `work`, or why it is not waited for any longer. */
  wait<T>(work: Promise<T>, url: URL): Promise<Result<T, Interruption>>;
  end(): void;
}

/**
 * Waits for one thing after the other, each for as long as the silence may last and the signal allows.
 * One timer serves them all: a download waits many thousand times, and a race against a promise that
 * lives as long as the download would keep every chunk.
 */
function startPatience({ clock, silenceMs, signal }: Sending, abort: () => void): Patience {
  const ended = new AbortController();
  let since = clock.monotonic();
  let giveUp: ((why: Interruption) => void) | null = null;

  function interrupt(why: Interruption): void {
    giveUp?.(why);
    abort();
  }

  const onAbort = () => interrupt(STOPPED);
  signal?.addEventListener("abort", onAbort);

  async function watch(): Promise<void> {
    let left = silenceMs;
    while (left > 0) {
      await clock.sleep(left, ended.signal);
      if (ended.signal.aborted) return;
      left = giveUp === null ? silenceMs : since + silenceMs - clock.monotonic();
    }
    interrupt({ code: "unreachable", what: `nothing came for ${silenceMs / 1_000} s` });
  }
  watch();

  return {
    wait: <T>(work: Promise<T>, url: URL) =>
      new Promise<Result<T, Interruption>>((resolve) => {
        const settle = (outcome: Result<T, Interruption>) => {
          giveUp = null;
          resolve(outcome);
        };
        giveUp = (why) => settle(fail(why));
        since = clock.monotonic();
        if (signal?.aborted) onAbort();
        work.then(
          (value) => settle(ok(value)),
          (thrown) => settle(fail({ code: "unreachable", what: faultOf(thrown, url).message })),
        );
      }),
    end: () => {
      ended.abort();
      signal?.removeEventListener("abort", onAbort);
    },
  };
}
