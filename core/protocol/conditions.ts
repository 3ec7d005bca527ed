/**
 * Every condition code that leaves the program (protocol §4). `identity_unreadable` is seen in the log
 * and in `status` only: without an identity there is nothing to sign a report with.
 */
export const CONDITION_CODES = [
  "manifest_rejected",
  "manifest_unavailable",
  "invalid_operation",
  "report_rejected",
  "identity_unreadable",
  "unsealed_secret",
  "undecryptable_secret",
  "misplaced_secret",
  "invalid_desired_state",
  "already_bound",
  "state_lost",
  "disk_full",
  "update_failed",
  "rolled_back",
  "k3s_restart_pending",
  "api_down",
  "addon_failed",
  "clock_offset_large",
  "other_cluster",
  "approval_missing",
  "approval_invalid",
  "release_older",
  "release_expired",
  "release_below_minimum",
  "answer_unproven",
  "not_the_portal",
  "k3s_config_refused",
  "unsigned_manifest",
  "pin_mismatch",
  "registries_refused",
  "k3s_setting_refused",
] as const;

/** A condition's code. */
export type ConditionCode = (typeof CONDITION_CODES)[number];
