import type { S3Error, S3Object } from "../../../core/ports/s3.ts";
import { fail, ok, type Result } from "../../../core/result.ts";
import type { Session } from "./session.ts";

/**
 * The facts of the session's object, or null where there is none. An answer to HEAD has no body and so
 * no reason; where it is a no, the first byte is asked for, and that answer says why.
 */
export async function findObject(session: Session): Promise<Result<S3Object | null, S3Error>> {
  const headed = await session.ask({ method: "HEAD" });
  if (!headed.ok) return headed;
  headed.value.close();
  const { status, headers } = headed.value;
  if (status === 200) return described(session, headers, headers.get("content-length"));

  const asked = await session.ask({ method: "GET", headers: { "Range": "bytes=0-0" } });
  if (!asked.ok) return asked;
  const answer = asked.value;
  try {
    const whole = /\/([0-9]+)$/.exec(answer.headers.get("content-range") ?? "")?.[1];
    if (answer.status === 206) return described(session, answer.headers, whole);
    if (answer.status === 200) {
      return described(session, answer.headers, answer.headers.get("content-length"));
    }
    const error = await session.refusal(answer);
    return error.code === "no_object" ? ok(null) : fail(error);
  } finally {
    answer.close();
  }
}

function described(
  { key, error }: Session,
  headers: Headers,
  size: string | null | undefined,
): Result<S3Object, S3Error> {
  const modifiedAt = Date.parse(headers.get("last-modified") ?? "");
  if (!/^[0-9]{1,15}$/.test(size ?? "") || Number.isNaN(modifiedAt)) {
    return fail(error("refused", "the answer has no Content-Length or no Last-Modified"));
  }
  return ok({ key, size: Number(size), etag: headers.get("etag") ?? "", modifiedAt });
}
