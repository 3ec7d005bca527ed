import type { S3Error, S3ListOptions, S3Page } from "../../../core/ports/s3.ts";
import { fail, ok, type Result } from "../../../core/result.ts";
import { parseListing } from "./listing.ts";
import { readText } from "./read_text.ts";
import type { Session } from "./session.ts";

/** A thousand of the longest keys (1,024 bytes), each byte written as three, and as much around each. */
const MAX_LISTING_BYTES = 8 * 1024 * 1024;

/** S3 puts no more on a page, whatever it is asked for. */
const MAX_PAGE = 1_000;
/** S3's own tokens have some hundred characters; a longer one would not fit the next request's line. */
const MAX_TOKEN = 4_096;

const NOT_A_PAGE =
  "the answer is not a listing as S3 writes it, or says that other pages follow and " +
  "does not name the next one";

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
    const refused = (what: string) => fail(session.error("refused", what));
    if (body.value === null) {
      return refused(`a page of the listing is over ${MAX_LISTING_BYTES} bytes`);
    }
    const page = parseListing(body.value);
    if (page === null) return refused(NOT_A_PAGE);
    if (page.objects.length > MAX_PAGE) return refused(`a page lists over ${MAX_PAGE} keys`);
    if (page.next !== null && page.next.length > MAX_TOKEN) {
      return refused(`the name of the next page has over ${MAX_TOKEN} characters`);
    }
    if (after !== undefined && page.next === after) {
      return refused("S3 names the same page as the next one again");
    }
    return ok(page);
  } finally {
    answer.close();
  }
}
