import {
  RETURN_MARK_FILE,
  RETURN_SERVICE,
  RETURN_TIMER,
  SYSTEMD_DIRECTORY,
} from "../../state/paths.ts";

/** How long a new image has to pass its health gate, milliseconds from its boot (operations.md). */
export const GATE_MS = 1_200_000;

/** The timer comes this much later than the agent's own end of the gate, milliseconds. */
const MARGIN_MS = 60_000;

/** A unit's file. */
export interface UnitFile {
  readonly path: string;
  readonly text: string;
}

/**
 * The units that return to the image before, where the agent cannot: it does not start in the new image,
 * or hangs there. They need nothing of the agent and nothing of the image but systemd. The old image
 * stays the default, so a restart is all that a return takes.
 *
 * The timer counts from the boot and depends on no other unit, so that a boot that gets stuck half way
 * is taken back too. The restart is forced: a node that is not healthy may not stop its services. What
 * lets it happen goes first, so that it happens once, wherever it leads.
 */
export function returnUnits(gateMs: number): readonly UnitFile[] {
  const timer = `[Unit]
Description=Returns to the node image before, unless an upgrade passes its health gate
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target

[Timer]
OnBootSec=${Math.ceil((gateMs + MARGIN_MS) / 1000)}s
AccuracySec=1s
Unit=${RETURN_SERVICE}

[Install]
WantedBy=timers.target
`;
  const service = `[Unit]
Description=Restarts into the node image before
DefaultDependencies=no
ConditionPathExists=${RETURN_MARK_FILE}
StartLimitIntervalSec=0
SuccessAction=reboot-force
FailureAction=reboot-force

[Service]
Type=oneshot
ExecStart=-/usr/bin/rm -f ${RETURN_MARK_FILE}
TimeoutStartSec=30
`;
  return [
    { path: `${SYSTEMD_DIRECTORY}/${RETURN_SERVICE}`, text: service },
    { path: `${SYSTEMD_DIRECTORY}/${RETURN_TIMER}`, text: timer },
  ];
}
