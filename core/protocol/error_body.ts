import * as z from "zod";

/**
 * The body of an answer that is no 200 (protocol §1). Members beside these depend on the code, and one that
 * is not as it should be counts as absent: the code says all the same what to do.
 */
export const ErrorBody = z.object({
  error: z.object({
    code: z.string(),
    message: z.string().optional().catch(undefined),
    /** With `clock_skew`: the portal's time, RFC 3339. */
    time: z.string().optional().catch(undefined),
    /** With `protocol_too_old`: the release to update to. */
    release: z.string().optional().catch(undefined),
  }),
});
export type ErrorBody = z.infer<typeof ErrorBody>;
