import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { installScript } from "../../cli/build/templates/install_script.ts";
import { runCommand } from "../lab/command.ts";

/** The version of the program that this world's script installs. */
export const INSTALLED = "9.9.9";
/** Its configuration. */
export const CONFIG = 'portal: "example.com"\ncluster_id: "c1"\nnode_name: "n1"\n' +
  'enrollment_token: "token-1"\n';

/** How the script ended. */
export interface Installed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A machine of files, on which the install script runs. */
export interface InstallWorld {
  readonly root: string;
  /** The names of the files that were asked for, oldest first. */
  readonly fetched: readonly string[];
  /** What the server of programs gives out; null: it answers 503 once, then this. */
  serve(...answers: readonly (Uint8Array<ArrayBuffer> | null)[]): void;
  /** Runs the script with `config` as the configuration to put in place; without it, with none. */
  install(config?: string): Promise<Installed>;
  read(path: string): Promise<string>;
  write(path: string, text: string, mode?: number): Promise<void>;
  /** The calls of systemctl since the last time, one a line. */
  systemctl(): Promise<string>;
}

/** The program that the script is to install, as the server gives it out. */
export const PROGRAM = program(INSTALLED);
/** Its gzip copy. */
export const PACKED = new Uint8Array(gzipSync(PROGRAM));

/** A program that can say its version and nothing else. */
export function program(version: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`#!/bin/sh\necho "pbx-agent ${version}"\n`);
}

/** Gives `work` a machine without an agent, and a server that has the program. */
export async function inInstallWorld(work: (world: InstallWorld) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "pbx-install-" });
  const fetched: string[] = [];
  let answers: (Uint8Array<ArrayBuffer> | null)[] = [PACKED];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    fetched.push(new URL(request.url).pathname);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    return answer ? new Response(answer) : new Response("busy", { status: 503 });
  });
  const world: InstallWorld = {
    root,
    fetched,
    serve: (...next) => void (answers = [...next]),
    install: async (config) => {
      const given = `${root}/given.yaml`;
      if (config !== undefined) await Deno.writeTextFile(given, config);
      const url = `http://127.0.0.1:${server.addr.port}/files`;
      const args = ["--url", url, ...(config === undefined ? [] : ["--config", given])];
      return await runCommand("/bin/sh", [`${root}/install.sh`, ...args], {
        env: { PATH: `${root}/fakes:${Deno.env.get("PATH")}` },
      });
    },
    read: (path) => Deno.readTextFile(root + path),
    write: async (path, text, mode = 0o600) => {
      await Deno.mkdir(root + path.slice(0, path.lastIndexOf("/")), { recursive: true });
      await Deno.writeTextFile(root + path, text, { mode });
    },
    systemctl: async () => {
      const calls = await Deno.readTextFile(`${root}/systemctl.log`).catch(() => "");
      await Deno.writeTextFile(`${root}/systemctl.log`, "");
      return calls;
    },
  };
  try {
    await layOut(world);
    await work(world);
  } finally {
    await server.shutdown();
    await Deno.remove(root, { recursive: true });
  }
}

async function layOut(world: InstallWorld): Promise<void> {
  const { root } = world;
  const sha256 = createHash("sha256").update(PROGRAM).digest("hex");
  const script = installScript(INSTALLED, [
    { architecture: "amd64", file: "agent-amd64.gz", sha256 },
    { architecture: "arm64", file: "agent-arm64.gz", sha256 },
  ]);
  const placed = script.replaceAll(/\/(var\/lib|etc|run)\/(pbx-agent|systemd)/g, `${root}$&`);
  await world.write("/install.sh", placed);
  await Deno.mkdir(`${root}/etc/systemd/system`, { recursive: true });
  await Deno.mkdir(`${root}/var/lib`, { recursive: true });
  await Deno.mkdir(`${root}/run`);
  const fakes = {
    systemctl: `echo "$*" >> ${root}/systemctl.log`,
    id: "echo 0",
    sleep: ":",
    chmod: `stat -c "%a %n" "$2" >> ${root}/modes.log; exec /bin/chmod "$@"`,
  };
  for (const [name, line] of Object.entries(fakes)) {
    await world.write(`/fakes/${name}`, `#!/bin/sh\n${line}\n`, 0o755);
  }
}
