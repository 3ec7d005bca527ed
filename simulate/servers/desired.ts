import type { DesiredState } from "../../core/protocol/desired_state.ts";

/** A desired state of a cluster with so many servers, and nothing else of note. */
export function desiredWith(servers: number): DesiredState {
  return {
    revision: 1,
    release: "1.0.0",
    agent: { version: "0.1.0" },
    servers,
    host: {
      snapshots: { schedule: "0 3 * * *", retention: 7, compress: true },
      ingress: "none",
    },
    maintenance: { timezone: "UTC", windows: [] },
    secrets: {},
    addons: [],
  };
}
