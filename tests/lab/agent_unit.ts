import { UNIT } from "../../cli/build/templates/unit.ts";
import type { Container } from "./container.ts";
import type { LabProcess } from "./lab_process.ts";

/** Where the agent keeps what it knows. */
export const STATE_DIRECTORY = "/var/lib/pbx-agent";
const PROGRAM = `${STATE_DIRECTORY}/bin/pbx-agent`;
const UNIT_NAME = "pbx-agent.service";

/** An agent that systemd runs inside a container. */
export interface AgentUnit {
  /** Enables and starts the unit. */
  start(): Promise<void>;
  /** SIGKILL to the agent's process and nothing else; systemd starts it again after RestartSec. */
  kill(): Promise<void>;
  /** Reads along with the agent's log, from its beginning and through reboots. */
  follow(): LogReader;
  /** Everything that the agent printed, in all boots. */
  journal(): Promise<string>;
}

/** Reads the agent's log line by line, a few milliseconds behind it. */
export interface LogReader {
  /** The next line with this event; later calls look at the lines after it. */
  next(event: string, timeoutMs?: number): Promise<LogLine>;
}

/** One line of the agent's log; it has more fields. */
export interface LogLine {
  readonly event: string;
  readonly message: string;
}

/** Lays the program, its unit and its configuration into a container, as cloud-init would. */
export async function installAgent(
  container: Container,
  program: string,
  config: string,
): Promise<AgentUnit> {
  await container.run(["install", "-d", "-m", "0700", STATE_DIRECTORY]);
  await container.writeFile(PROGRAM, await Deno.readFile(program), 0o755);
  await container.run(["install", "-d", "-m", "0700", "/etc/pbx-agent"]);
  await container.writeFile("/etc/pbx-agent/config.yaml", config, 0o600);
  await container.writeFile(`/etc/systemd/system/${UNIT_NAME}`, UNIT);
  await container.run(["systemctl", "daemon-reload"]);
  return {
    start: async () => void await container.run(["systemctl", "enable", "--now", UNIT_NAME]),
    kill: async () => {
      const pids = await container.hostPids(UNIT_NAME);
      for (const pid of pids) if (await isAgent(pid)) Deno.kill(pid, "SIGKILL");
    },
    follow: () => readLog(container.followConsole()),
    journal: async () => await container.run(["journalctl", `--unit=${UNIT_NAME}`, "--output=cat"]),
  };
}

/** Programs that the agent started are in its cgroup as well. */
async function isAgent(pid: number): Promise<boolean> {
  const comm = await Deno.readTextFile(`/proc/${pid}/comm`).catch(() => "");
  return comm.trim() === "pbx-agent";
}

function readLog(console: LabProcess): LogReader {
  let seen = 0;
  return {
    next: async (event, timeoutMs) => {
      let index = 0;
      const isNext = (line: string) => index++ >= seen && parseLine(line)?.event === event;
      const found = await console.waitForLine(isNext, timeoutMs).catch((error: unknown) => {
        const tail = console.stdout.filter((line) => parseLine(line) !== undefined).slice(-10);
        throw new Error(`the agent did not log ${event}: ${String(error)}\n${tail.join("\n")}`);
      });
      seen = index;
      const line = parseLine(found);
      if (line === undefined) throw new Error(`no line of the agent's log: ${found}`);
      return line;
    },
  };
}

/** The console shows every service's lines, each behind the service's name. */
function parseLine(line: string): LogLine | undefined {
  const json = /pbx-agent\[\d+\]: (\{.*\})\s*$/.exec(line)?.[1];
  return json === undefined ? undefined : JSON.parse(json);
}
