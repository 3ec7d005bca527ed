import { parse } from "yaml";
import { describeIssue } from "../../core/protocol/schema_error.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { Profile } from "./profile.ts";

/** Reads a profile's text, YAML or JSON. The error names the member and what is wrong with it. */
export function readProfile(text: string): Result<Profile, string> {
  let document: unknown;
  try {
    document = parse(text) ?? {};
  } catch (cause) {
    return fail(`is no YAML: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  const profile = Profile.safeParse(document);
  return profile.success ? ok(profile.data) : fail(describeIssue(profile.error));
}
