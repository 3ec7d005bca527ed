import type { ArtifactError, ArtifactFile } from "../ports/artifact.ts";
import type { Result } from "../result.ts";
import type { BoundContext } from "./context.ts";

/** A download that goes on beside the cycles. */
export interface Download {
  readonly artifact: ArtifactFile;
  /** How it ended; null while it goes on. */
  result(): Result<void, ArtifactError> | null;
  /** Ends it early. */
  cancel(): void;
  /** Resolves with its end, however that comes. */
  readonly ended: Promise<void>;
}

/** Progress is logged this far apart, milliseconds. */
const SAY_MS = 10_000;

/** Begins to fetch `artifact` to `path`. Ends with the program. */
export function startDownload(
  { ports, stop }: Pick<BoundContext, "ports" | "stop">,
  artifact: ArtifactFile,
  path: string,
  mode: number,
): Download {
  const { artifacts, clock, log } = ports;
  const cancelled = new AbortController();
  const cancel = () => cancelled.abort();
  let result: Result<void, ArtifactError> | null = null;
  let said = clock.monotonic();

  function onProgress(done: number, total: number): void {
    if (clock.monotonic() - said < SAY_MS) return;
    said = clock.monotonic();
    log.write("info", "download", `${done} of ${total} bytes of the new program`, { done, total });
  }

  stop.addEventListener("abort", cancel);
  if (stop.aborted) cancel();
  const ended = artifacts.fetch(artifact, path, { mode, signal: cancelled.signal, onProgress })
    .then((end) => void (result = end), (cause) => {
      log.write("error", "download_fault", String(cause));
      result = { ok: false, error: { code: "cut", message: "the download broke down" } };
    })
    .finally(() => stop.removeEventListener("abort", cancel));
  return { artifact, result: () => result, cancel, ended };
}
