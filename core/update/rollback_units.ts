import {
  PREVIOUS_PROGRAM_FILE,
  ROLLBACK_SERVICE,
  ROLLBACK_TIMER,
  SYSTEMD_DIRECTORY,
} from "../state/paths.ts";

/** How long a new version has for its first successful sync, milliseconds (operations.md, Own updates). */
export const TRIAL_MS = 600_000;

/** A unit's file. */
export interface UnitFile {
  readonly path: string;
  readonly text: string;
}

/**
 * The units that take an update back.
 *
 * The timer counts on the monotonic clock from its activation. A moment of the calendar would fire at
 * once, or a day late, when the clock is set, and would condemn a version that never ran because the
 * power was away. The timer is enabled, so a boot activates it again and the version has its ten minutes
 * from there: ten minutes plus the boot.
 *
 * The service runs the previous program in a cgroup of its own, so that neither the new program nor its
 * unit's end can take it along; it is tried again until it succeeds.
 */
export function rollbackUnits(trialMs: number): readonly UnitFile[] {
  const timer = `[Unit]
Description=Takes back an update of pbx-agent that has not synced in time

[Timer]
OnActiveSec=${Math.ceil(trialMs / 1000)}s
AccuracySec=1s
Unit=${ROLLBACK_SERVICE}

[Install]
WantedBy=timers.target
`;
  const service = `[Unit]
Description=Puts the previous pbx-agent back
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart=${PREVIOUS_PROGRAM_FILE} rollback
TimeoutStartSec=300
Restart=on-failure
RestartSec=10
`;
  return [
    { path: `${SYSTEMD_DIRECTORY}/${ROLLBACK_SERVICE}`, text: service },
    { path: `${SYSTEMD_DIRECTORY}/${ROLLBACK_TIMER}`, text: timer },
  ];
}
