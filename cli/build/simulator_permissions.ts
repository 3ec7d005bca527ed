import { PROXY_VARIABLES } from "../../adapters/node/proxy.ts";

/**
 * All that is baked into the program that simulates: the network, the folder in which it is started
 * (tokens, profiles, certificates, reports), its number within a Kubernetes Job. It starts no program.
 */
export const SIMULATOR_PERMISSION_FLAGS: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-read=.",
  "--allow-write=.",
  `--allow-env=${["JOB_COMPLETION_INDEX", ...PROXY_VARIABLES].join(",")}`,
  "--deny-run",
  "--deny-ffi",
  "--deny-import",
];
