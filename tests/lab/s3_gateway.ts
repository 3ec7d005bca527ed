import { join } from "node:path";
import { makeAuthority, makeServerCertificate } from "./certificates.ts";
import { freePort } from "./free_port.ts";
import type { LabProcess, LabProcessOptions } from "./lab_process.ts";
import { startLabProcess } from "./lab_process.ts";
import { findPart } from "./parts.ts";

/** A real S3 server over TLS on 127.0.0.1, with one bucket, that checks signatures. */
export interface S3Gateway {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** The authority of its certificate, PEM. */
  readonly authority: string;
  /** Keys of the objects in the bucket, sorted. */
  objects(): Promise<string[]>;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
}

/** Starts a program, on the host or in a container's network (`container.runInNetwork`). */
export type Start = (
  program: string,
  args: readonly string[],
  options?: LabProcessOptions,
) => LabProcess;

const ACCESS = { accessKey: "LABACCESSKEY", secretKey: "lab-secret-key", region: "lab-1" };
const BUCKET = "snapshots";
/** The server's own bookkeeping beside the objects. */
const INTERNAL = ".sgwtmp";

/**
 * Starts versitygw on a folder of its own. `start` decides in which network; `port` has to be free
 * there (one that is free on the host when absent).
 */
export async function startS3Gateway(
  start: Start = startLabProcess,
  port: number = freePort(),
): Promise<S3Gateway> {
  const program = await findPart("versitygw");
  const directory = await Deno.makeTempDir({ prefix: "pbx-s3-" });
  const bucket = join(directory, "data", BUCKET);
  await Deno.mkdir(bucket, { recursive: true });
  const authority = await makeAuthority("lab S3");
  const certificate = await makeServerCertificate(authority);
  await Deno.writeTextFile(join(directory, "cert.pem"), certificate.cert);
  await Deno.writeTextFile(join(directory, "key.pem"), certificate.key, { mode: 0o600 });
  const gateway = start(program, [
    `--port=127.0.0.1:${port}`,
    `--access=${ACCESS.accessKey}`,
    `--secret=${ACCESS.secretKey}`,
    `--region=${ACCESS.region}`,
    `--cert=${join(directory, "cert.pem")}`,
    `--key=${join(directory, "key.pem")}`,
    "posix",
    join(directory, "data"),
  ]);
  return {
    ...ACCESS,
    endpoint: `https://127.0.0.1:${port}`,
    bucket: BUCKET,
    authority: authority.cert,
    objects: async () => (await filesBelow(bucket, "")).toSorted(),
    stop: async () => {
      await gateway.stop();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

async function filesBelow(directory: string, prefix: string): Promise<string[]> {
  const files: string[] = [];
  for await (const entry of Deno.readDir(directory)) {
    if (entry.name === INTERNAL) continue;
    const key = prefix + entry.name;
    if (!entry.isDirectory) files.push(key);
    else files.push(...await filesBelow(join(directory, entry.name), `${key}/`));
  }
  return files;
}
