import type { Architecture } from "./options.ts";

/** The name of a built program's file; its gzip copy has `.gz` behind it. */
export function programName(version: string, architecture: Architecture): string {
  return `pbx-agent-${version}-linux-${architecture}`;
}

/** The name of the file of the program that simulates. */
export function simulatorName(version: string, architecture: Architecture): string {
  return `pbx-simulate-${version}-linux-${architecture}`;
}
