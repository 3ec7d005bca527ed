import type { InitrdFile } from "./initrd.ts";

/** The serial port on which a machine takes commands. */
const PORT = "/dev/ttyS1";

/**
 * Reads `<number> <command in base64>` line by line and answers `answer <number> <exit code> <stdout and
 * stderr in base64>`. A number that comes again is answered again, and its command not run twice.
 * While nothing comes it says every few seconds that it is there.
 */
const SCRIPT = `#!/bin/sh
stty -F ${PORT} raw -echo
exec 3<>${PORT}
echo >&3
echo "shell ready" >&3
last=
while :; do
  if ! read -r -t 5 number command <&3; then
    echo "shell ready" >&3
    continue
  fi
  if [ "$number" != "$last" ]; then
    echo "$command" | base64 -d >/run/lab-command
    sh /run/lab-command >/run/lab-output 2>&1 3<&- </dev/null
    code=$?
    last=$number
  fi
  echo "answer $number $code $(base64 -w 0 </run/lab-output)" >&3
done
`;

const UNIT = `[Unit]
Description=Commands from the lab
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target

[Service]
ExecStart=/usr/local/bin/lab-shell
Restart=always
`;

/** What an image has so that tests can run commands in it. */
export const SHELL_FILES: readonly InitrdFile[] = [
  { path: "usr/local/bin/lab-shell", text: SCRIPT, executable: true },
  { path: "usr/lib/systemd/system/lab-shell.service", text: UNIT },
  {
    path: "usr/lib/systemd/system/sysinit.target.wants/lab-shell.service",
    link: "../lab-shell.service",
  },
];
