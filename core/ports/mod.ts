import type { Artifacts } from "./artifact.ts";
import type { Boot } from "./boot.ts";
import type { Clock } from "./clock.ts";
import type { Disk } from "./disk.ts";
import type { Http } from "./http.ts";
import type { K3s } from "./k3s.ts";
import type { K8s } from "./k8s.ts";
import type { Log } from "./log.ts";
import type { Machine } from "./machine.ts";
import type { Metadata } from "./metadata.ts";
import type { Programs } from "./programs.ts";
import type { Random } from "./random.ts";
import type { S3 } from "./s3.ts";
import type { Servers } from "./servers.ts";
import type { SnapshotFile } from "./snapshot_file.ts";
import type { Systemd } from "./systemd.ts";

/** Everything outside the core, in one value. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly disk: Disk;
  readonly http: Http;
  readonly k8s: K8s;
  readonly systemd: Systemd;
  readonly k3s: K3s;
  readonly servers: Servers;
  readonly s3: S3;
  readonly snapshotFile: SnapshotFile;
  readonly boot: Boot;
  readonly machine: Machine;
  readonly metadata: Metadata;
  readonly artifacts: Artifacts;
  readonly programs: Programs;
  readonly log: Log;
}
