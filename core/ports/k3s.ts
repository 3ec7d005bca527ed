import type { Result } from "../result.ts";
import type { ProgramError } from "./systemd.ts";

/** The k3s program of this node. */
export interface K3s {
  /** Its version, for example `v1.36.3+k3s1` (first line of `k3s --version`). */
  version(): Promise<Result<string, ProgramError>>;
}
