import { AwsV4Signer } from "aws4fetch";
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
  /** Keys of somebody who may not touch the bucket. */
  readonly stranger: { readonly accessKey: string; readonly secretKey: string };
  /** Keys of the objects in the bucket, sorted. */
  objects(): Promise<string[]>;
  /** The bytes of an object; undefined where it is not there. */
  read(key: string): Promise<Uint8Array | undefined>;
  /** Stores an object as a client would. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Lays an object into its folder, for a server in a network that the test is not in. */
  plant(key: string, bytes: Uint8Array): Promise<void>;
  /** Lays an object of so many zeros into its folder, for sizes that nobody wants to send. */
  plantZeros(key: string, size: number): Promise<void>;
  remove(key: string): Promise<void>;
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
const STRANGER = { accessKey: "STRANGERKEY", secretKey: "stranger-secret-key" };
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
  // Users beside the one of the command line.
  await Deno.mkdir(join(directory, "iam"));
  const stranger = { access: STRANGER.accessKey, secret: STRANGER.secretKey, role: "user" };
  const users = { accessAccounts: { [stranger.access]: { ...stranger, userID: 0, groupID: 0 } } };
  await Deno.writeTextFile(join(directory, "iam", "users.json"), JSON.stringify(users));
  const gateway = start(program, [
    `--port=127.0.0.1:${port}`,
    `--access=${ACCESS.accessKey}`,
    `--secret=${ACCESS.secretKey}`,
    `--region=${ACCESS.region}`,
    `--cert=${join(directory, "cert.pem")}`,
    `--key=${join(directory, "key.pem")}`,
    `--iam-dir=${join(directory, "iam")}`,
    "posix",
    join(directory, "data"),
  ]);
  const endpoint = `https://127.0.0.1:${port}`;
  const client = Deno.createHttpClient({ caCerts: [authority.cert] });

  async function send(method: "PUT" | "DELETE", key: string, body?: Uint8Array): Promise<void> {
    const url = `${endpoint}/${BUCKET}/${key.split("/").map(encodeURIComponent).join("/")}`;
    const { accessKey: accessKeyId, secretKey: secretAccessKey, region } = ACCESS;
    const keys = { accessKeyId, secretAccessKey, region, service: "s3" };
    const { headers } = await new AwsV4Signer({ method, url, ...keys }).sign();
    const content = body === undefined ? {} : { body: new Uint8Array(body) };
    const response = await fetch(url, { method, headers, client, ...content });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${key}: ${response.status} ${text}`);
  }

  return {
    ...ACCESS,
    stranger: STRANGER,
    endpoint,
    bucket: BUCKET,
    authority: authority.cert,
    objects: async () => (await filesBelow(bucket, "")).toSorted(),
    read: (key) => Deno.readFile(join(bucket, key)).catch(() => undefined),
    put: (key, bytes) => send("PUT", key, bytes),
    plant: (key, bytes) => Deno.writeFile(join(bucket, key), bytes),
    plantZeros: async (key, size) => {
      await Deno.writeFile(join(bucket, key), new Uint8Array());
      await Deno.truncate(join(bucket, key), size);
    },
    remove: (key) => send("DELETE", key),
    stop: async () => {
      client.close();
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
