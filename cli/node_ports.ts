import { createNodeArtifacts } from "../adapters/node/artifacts.ts";
import { createNodeBoot } from "../adapters/node/boot.ts";
import { createNodeClock } from "../adapters/node/clock.ts";
import { createNodeDisk } from "../adapters/node/disk.ts";
import { createNodeHttp } from "../adapters/node/http.ts";
import { createNodeK3s } from "../adapters/node/k3s.ts";
import { createNodeK8s } from "../adapters/node/k8s.ts";
import { withKernelFiles } from "../adapters/node/kernel_files.ts";
import { createNodeLog } from "../adapters/node/log.ts";
import { createNodeMachine } from "../adapters/node/machine.ts";
import { createFilesMachine } from "../adapters/node/machine_files.ts";
import { createNodeMetadata } from "../adapters/node/metadata.ts";
import { createNodePrograms } from "../adapters/node/programs.ts";
import { createNodeRandom } from "../adapters/node/random.ts";
import { createNodeServers } from "../adapters/node/servers.ts";
import { createNodeS3 } from "../adapters/node/s3.ts";
import { createNodeSnapshotFile } from "../adapters/node/snapshot_file.ts";
import { createNodeSystemd } from "../adapters/node/systemd.ts";
import type { Log } from "../core/ports/log.ts";
import type { Ports } from "../core/ports/mod.ts";
import { VERSION } from "./version.ts";

/** What the ports of a real node depend on. */
export interface NodeOptions {
  readonly root?: string;
  readonly metadataUrl?: string;
  /** Certificates to trust beside the system's, PEM. */
  readonly caPem?: string;
}

/** The program's log: one JSON object a line, or readable lines where a person looks on. */
export function programLog(): Log {
  return createNodeLog({
    stream: "stderr",
    json: !Deno.stderr.isTerminal(),
    now: () => Date.now(),
  });
}

/** The ports of this node. */
export function nodePorts(options: NodeOptions): Ports {
  const rooted = options.root === undefined ? {} : { root: options.root };
  const clock = createNodeClock();
  const disk = createNodeDisk(rooted);
  const isLab = options.root !== undefined;
  const kernel = isLab ? disk : withKernelFiles(disk, clock);
  const trust = options.caPem === undefined ? {} : { caPem: options.caPem };
  const http = createNodeHttp({ version: VERSION, clock, ...trust });
  return {
    clock,
    random: createNodeRandom(),
    disk,
    http,
    k8s: createNodeK8s({ disk, clock, version: VERSION }),
    systemd: createNodeSystemd({ ...rooted, clock }),
    k3s: createNodeK3s({ ...rooted, clock }),
    servers: createNodeServers({ disk, clock, version: VERSION }),
    s3: createNodeS3({ version: VERSION, clock, ...trust }),
    snapshotFile: createNodeSnapshotFile(rooted),
    boot: createNodeBoot({ ...rooted, disk: kernel, clock }),
    machine: isLab ? createFilesMachine(disk) : createNodeMachine({ disk: kernel, clock }),
    metadata: createNodeMetadata({
      http,
      ...(options.metadataUrl === undefined ? {} : { url: options.metadataUrl }),
    }),
    artifacts: createNodeArtifacts({ version: VERSION, clock, ...rooted, ...trust }),
    programs: createNodePrograms({ ...rooted, clock }),
    log: programLog(),
  };
}
