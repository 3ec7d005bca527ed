import type { S3Error } from "../../../core/ports/s3.ts";
import type { Answer } from "./exchange.ts";
import { readText } from "./read_text.ts";
import { parseXml, textOf } from "./xml.ts";

/** Error bodies are small; what is longer comes from something else and is not read on. */
const MAX_ERROR_BYTES = 64 * 1024;

/** What an answer that is no success means. */
export interface Refusal {
  readonly code: S3Error["code"];
  /** In words, with S3's own code, without bucket and key. */
  readonly what: string;
}

/** S3's codes by what they mean to us. AWS, Ceph, MinIO and versitygw differ in which they use. */
const CODES: readonly (readonly [S3Error["code"], readonly string[], string])[] = [
  ["clock_skew", ["RequestTimeTooSkewed"], "this node's clock is off by more than S3 allows"],
  ["wrong_keys", ["InvalidAccessKeyId"], "S3 does not know the access key"],
  ["wrong_keys", ["SignatureDoesNotMatch"], "the secret key does not belong to the access key"],
  ["wrong_keys", ["ExpiredToken", "TokenRefreshRequired"], "the keys have expired"],
  ["wrong_keys", ["InvalidToken", "InvalidSecurity", "NotSignedUp"], "S3 refuses the keys"],
  [
    "denied",
    ["AccessDenied", "AllAccessDisabled", "AccountProblem", "AccessForbidden"],
    "the keys are right, and may not do this",
  ],
  ["no_bucket", ["NoSuchBucket"], "there is no such bucket"],
  ["no_object", ["NoSuchKey"], "there is no such object"],
  ["changed", ["PreconditionFailed", "InvalidRange"], "the object was replaced meanwhile"],
  [
    "unreachable",
    ["SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "OperationAborted"],
    "S3 cannot answer this now",
  ],
];

/** The same by status, for answers without a code: those to HEAD, and those of proxies. */
const STATUSES: ReadonlyMap<number, readonly [S3Error["code"], string]> = new Map([
  [401, ["wrong_keys", "S3 refuses the keys"]],
  [403, ["denied", "this is not allowed"]],
  [408, ["unreachable", "S3 cannot answer this now"]],
  [412, ["changed", "the object was replaced meanwhile"]],
  [416, ["changed", "the object was replaced meanwhile"]],
  [429, ["unreachable", "S3 cannot answer this now"]],
]);

/** Codes that come with the wrong region, among other things. */
const MISDIRECTED = [
  "AuthorizationHeaderMalformed",
  "PermanentRedirect",
  "TemporaryRedirect",
  "Redirect",
  "IllegalLocationConstraintException",
  "AuthorizationQueryParametersError",
];

/**
 * Reads the body of an answer that is no success and says what it means. Of what the other side wrote
 * only its code and a region are passed on: the rest may quote keys.
 *
 * @param region the region that was asked
 */
export async function refusalOf(answer: Answer, region: string): Promise<Refusal> {
  const { status, headers } = answer;
  const body = await readText(answer, MAX_ERROR_BYTES);
  const root = body.ok && body.value !== null ? parseXml(body.value) : null;
  const error = root?.name === "Error" ? root : null;
  const own = error === null ? "" : textOf(error, "Code") ?? "";
  const code = /^[A-Za-z0-9._-]{1,64}$/.test(own) ? own : null;
  const said = code ?? `HTTP ${status} without a code of S3's`;

  const message = error === null ? "" : textOf(error, "Message") ?? "";
  const right = regionIn(error === null ? undefined : textOf(error, "Region")) ??
    regionIn(headers.get("x-amz-bucket-region")) ??
    regionIn(/expecting ["'`]?([a-z0-9-]+)/.exec(message)?.[1]);
  const isMisdirected = code === null
    ? status === 301 || status === 307
    : MISDIRECTED.includes(code);
  if (isMisdirected && right !== null && right !== region) {
    return { code: "wrong_region", what: `the region is ${right}, not ${region} (${said})` };
  }
  if (isMisdirected && (code === null || code.endsWith("Redirect"))) {
    const what = `the bucket is at another endpoint or in another region than ${region} (${said})`;
    return { code: "wrong_region", what };
  }
  const known = CODES.find(([, codes]) => code !== null && codes.includes(code));
  if (known !== undefined) return { code: known[0], what: `${known[2]} (${said})` };
  if (code === null) {
    const byStatus = STATUSES.get(status);
    if (byStatus !== undefined) return { code: byStatus[0], what: `${byStatus[1]} (${said})` };
  }
  if (status >= 500) return { code: "unreachable", what: `S3 cannot answer this now (${said})` };
  return { code: "refused", what: said };
}

function regionIn(text: string | null | undefined): string | null {
  return text !== null && text !== undefined && /^[a-z0-9-]{1,64}$/.test(text) ? text : null;
}
