import { type Answer, refuse } from "./http/message.ts";
import type { Portal } from "./portal.ts";

/** Names that artifacts may have; none leads out of their folder. */
export const ARTIFACT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

/** `GET /artifacts/{name}`: a file of a release, or the rest of one (`Range: bytes=N-`). */
export function artifact(portal: Portal, name: string, range: string | undefined): Answer {
  const bytes = ARTIFACT_NAME.test(name) ? portal.store.artifact(name) : null;
  if (bytes === null) return refuse(404, "unknown_artifact", "there is no such artifact");
  const headers = { "content-type": "application/octet-stream", "accept-ranges": "bytes" };
  const from = /^bytes=([0-9]{1,15})-$/.exec(range ?? "")?.[1];
  if (from === undefined) return { status: 200, headers, body: bytes };
  const start = Number(from);
  if (start >= bytes.length) {
    const contentRange = { "content-range": `bytes */${bytes.length}` };
    return { status: 416, headers: contentRange, body: new Uint8Array(0) };
  }
  const contentRange = `bytes ${start}-${bytes.length - 1}/${bytes.length}`;
  return {
    status: 206,
    headers: { ...headers, "content-range": contentRange },
    body: bytes.subarray(start),
  };
}
