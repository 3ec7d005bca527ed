import { request } from "node:https";
import { fail, ok, type Result } from "../../core/result.ts";
import { joined } from "./read_limited.ts";

/** Where a k3s server shows the file of its authorities to those that do not know them yet. */
const PATH = "/cacerts";
/** A CA file has some kilobytes. */
const MAX_BYTES = 256 * 1024;

/**
 * The CA file that the k3s server at `server` serves. Its certificate is not judged: the file is what it
 * would be judged by, and whoever asks compares the file with a pinned hash. The error is for people.
 */
export function servedCa(
  server: string,
  totalMs: number,
  userAgent: string,
): Promise<Result<Uint8Array, string>> {
  const url = new URL(PATH, server);
  const { promise, resolve } = Promise.withResolvers<Result<Uint8Array, string>>();
  const sent = request(url, {
    rejectUnauthorized: false,
    agent: false,
    headers: { "User-Agent": userAgent, "Accept-Encoding": "identity" },
  }, (answer) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    answer.on("data", (chunk: Uint8Array) => {
      size += chunk.length;
      if (size > MAX_BYTES) end(fail(`${url.href} serves more than ${MAX_BYTES} bytes`));
      else chunks.push(new Uint8Array(chunk));
    });
    answer.on("error", (error: Error) => end(fail(`${url.href}: ${error.message}`)));
    answer.on("end", () => {
      end(
        answer.statusCode === 200
          ? ok(joined(chunks, size))
          : fail(`${url.href} answers ${answer.statusCode}`),
      );
    });
  });
  const timer = setTimeout(
    () => end(fail(`${url.href}: no complete answer in ${totalMs} ms`)),
    totalMs,
  );
  function end(outcome: Result<Uint8Array, string>): void {
    clearTimeout(timer);
    sent.destroy();
    resolve(outcome);
  }
  sent.on("error", (error: Error) => end(fail(`${url.href}: ${error.message}`)));
  sent.end();
  return promise;
}
