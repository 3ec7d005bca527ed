import { PROGRAM_FILE } from "../../../core/state/paths.ts";

/** The agent's unit (operations.md, Files). */
export const UNIT = `[Unit]
Description=PaaSbox node agent
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart=${PROGRAM_FILE} run
Restart=always
RestartSec=5
ProtectHome=yes
PrivateTmp=yes

[Install]
WantedBy=multi-user.target
`;
