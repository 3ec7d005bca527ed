import type { S3Error, S3ListOptions, S3Page } from "../../../core/ports/s3.ts";
import { fail, ok, type Result } from "../../../core/result.ts";
import { parseListing } from "./listing.ts";
import { readText } from "./read_text.ts";
import type { Session } from "./session.ts";

/** A thousand of the longest keys, each byte written as three. */
const MAX_LISTING_BYTES = 8 * 1024 * 1024;

const MAX_PAGE = 1_000;

/** One page of a listing (ListObjectsV2). */
export async function listPage(
  session: Session,
  prefix: string,
  { after, pageSize = MAX_PAGE }: S3ListOptions,
): Promise<Result<S3Page, S3Error>> {
  const answered = await session.ask({
    method: "GET",
    query: {
      "encoding-type": "url",
      "list-type": "2",
      "max-keys": `${Math.min(Math.max(pageSize, 1), MAX_PAGE)}`,
      prefix,
      ...(after === undefined ? {} : { "continuation-token": after }),
    },
  });
  if (!answered.ok) return answered;
  const answer = answered.value;
  try {
    if (answer.status !== 200) return fail(await session.refusal(answer));
    const body = await readText(answer, MAX_LISTING_BYTES);
    if (!body.ok) return fail(session.interrupted(body.error));
    const page = body.value === null ? null : parseListing(body.value);
    if (page === null) return fail(session.error("refused", "the answer is no listing of S3's"));
    if (after !== undefined && page.next === after) {
      return fail(session.error("refused", "S3 gives the same page again and again"));
    }
    return ok(page);
  } finally {
    answer.close();
  }
}
