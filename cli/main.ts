/**
 * The program as it is shipped. Its release keys are those that its build was given; nothing at run time
 * adds or changes one.
 */
import { dispatch } from "./dispatch.ts";
import { builtInReleaseKeys } from "./release_keys.ts";

if (import.meta.main) {
  Deno.exit(await dispatch(Deno.args, { releaseKeys: builtInReleaseKeys(), lab: false }));
}
