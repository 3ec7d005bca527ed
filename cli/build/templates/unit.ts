import { PROGRAM_FILE } from "../../../core/state/paths.ts";

/**
 * The agent's unit (operations.md, Files). It is started for ever, however often it ended (a program that
 * crashes in a loop must not be what systemd gives up on), and is gone ten seconds after it was told to
 * stop: a rollback waits for that. By the variable the runtime trusts the authorities of the system beside
 * those that it brings itself.
 */
export const UNIT = `[Unit]
Description=PaaSbox node agent
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${PROGRAM_FILE} run
Environment=DENO_TLS_CA_STORE=system,mozilla
Restart=always
RestartSec=5
TimeoutStopSec=10
ProtectHome=yes
PrivateTmp=yes

[Install]
WantedBy=multi-user.target
`;
