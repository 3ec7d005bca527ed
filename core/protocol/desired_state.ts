import * as z from "zod";
import { Approvals } from "./approval.ts";
import { isCronSchedule } from "./cron.ts";
import { DnsLabel, ReleaseVersion } from "./identifiers.ts";
import { Registries } from "./registries.ts";
import { Sealed } from "./sealed.ts";
import { ClusterSecrets, StoredClusterSecrets } from "./secrets.ts";
import { isTimeZone } from "./time_zone.ts";

/** Days of a maintenance window, as the wire names them, Monday first. */
export const WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** A maintenance window: it opens at `start` local time on each of `days` and lasts `minutes`. */
export const MaintenanceWindow = z.object({
  days: z.array(z.enum(WEEKDAYS)).min(1),
  start: z.string().regex(/^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/, "is no HH:MM"),
  minutes: z.int().min(1).max(1440),
});
export type MaintenanceWindow = z.infer<typeof MaintenanceWindow>;

/** When k3s may be restarted. No windows: never on the agent's own account. */
export const Maintenance = z.object({
  timezone: z.string().refine(isTimeZone, "is no IANA time zone"),
  windows: z.array(MaintenanceWindow),
});
export type Maintenance = z.infer<typeof Maintenance>;

/** k3s's settings that the portal changes while the cluster runs: drop-ins, and registries.yaml. */
export const HostSettings = z.object({
  snapshots: z.object({
    schedule: z.string().refine(isCronSchedule, "is no five-field cron schedule"),
    retention: z.int().min(1).max(1000),
    compress: z.boolean(),
  }),
  ingress: z.enum(["traefik", "none"]),
  /** Where images come from, and with which credentials; absent: k3s's own defaults. */
  registries: Registries.optional(),
});
export type HostSettings = z.infer<typeof HostSettings>;

/** One add-on of the release's catalogue, on or off, with its options. */
export const AddonSetting = z.object({
  name: DnsLabel,
  enabled: z.boolean(),
  options: z.record(z.string(), z.json()),
  secret_options: z.record(z.string(), Sealed).optional(),
});
export type AddonSetting = z.infer<typeof AddonSetting>;

/** What the portal wants of this cluster (protocol §4). Applied as a whole or not at all. */
export const DesiredState = z.object({
  revision: z.int().min(0),
  release: ReleaseVersion,
  agent: z.object({ version: ReleaseVersion }),
  servers: z.int().min(1),
  host: HostSettings,
  maintenance: Maintenance,
  secrets: ClusterSecrets,
  addons: z.array(AddonSetting).refine(
    (addons) => new Set(addons.map((addon) => addon.name)).size === addons.length,
    "names an add-on twice",
  ),
  /** Signatures of the cluster's owner for changes that need them (trust.md T4). */
  approvals: Approvals.optional(),
});
export type DesiredState = z.infer<typeof DesiredState>;

/** The same in a file on the disk, which an earlier version may have written. */
export const StoredDesiredState = DesiredState.extend({ secrets: StoredClusterSecrets });
