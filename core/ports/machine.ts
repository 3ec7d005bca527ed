import type { Result } from "../result.ts";
import type { ProgramError } from "./systemd.ts";

/** What the kernel says of itself and of the machine now; null what cannot be had. */
export interface MachineFacts {
  /** A UUID, another one after every boot. */
  readonly bootId: string | null;
  /** Whole seconds since the boot. */
  readonly uptimeSeconds: number | null;
  /** The kernel's release, as `uname -r` prints it. */
  readonly kernel: string | null;
  /** What new programs could take without swapping. */
  readonly memoryAvailableBytes: number | null;
  /** The name that the machine gives itself. */
  readonly hostName: string | null;
}

/** A process that runs. */
export interface MachineProcess {
  readonly pid: number;
  /** Program and arguments, with blanks or NULs between them. */
  readonly commandLine: string;
}

/** The machine under the agent, as its kernel shows it. */
export interface Machine {
  /** Cheap: a cycle asks for it. Never fails: a fact that cannot be had is null. */
  facts(): Promise<MachineFacts>;
  /** All processes, for a search among them. An error where they cannot be seen: that is not "none". */
  processes(): Promise<Result<readonly MachineProcess[], ProgramError>>;
}
