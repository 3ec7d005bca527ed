import { fileURLToPath } from "node:url";
import type { S3Gateway } from "../lab/s3_gateway.ts";

/** What is downloaded, with the lab's keys. */
export interface S3GetTask {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly endpointCa: string;
  readonly key: string;
}

/** How it went. */
export interface S3GetMeasured {
  readonly ms: number;
  readonly sha256: string;
  /** How much more memory (RSS) the process held at most than before, MB. */
  readonly grownMb: number;
}

/** Downloads an object with the agent's client. */
export async function agentGet(gateway: S3Gateway, key: string): Promise<S3GetMeasured> {
  const { endpoint, bucket, region, accessKey, secretKey, authority: endpointCa } = gateway;
  const task = { endpoint, bucket, region, accessKey, secretKey, endpointCa, key };
  const entry = fileURLToPath(new URL("s3_get_main.ts", import.meta.url));
  const args = ["run", "-A", "--no-check", entry, JSON.stringify(task satisfies S3GetTask)];
  return JSON.parse(await output(Deno.execPath(), args));
}

/** The same with `curl | sha256sum`. */
export async function curlGet(
  gateway: S3Gateway,
  key: string,
): Promise<Pick<S3GetMeasured, "ms" | "sha256">> {
  const authority = await Deno.makeTempFile();
  await Deno.writeTextFile(authority, gateway.authority);
  const curl = [
    "curl --silent --fail",
    `--cacert ${authority} --aws-sigv4 aws:amz:${gateway.region}:s3`,
    `--user ${gateway.accessKey}:${gateway.secretKey}`,
    "--header 'x-amz-content-sha256: UNSIGNED-PAYLOAD'",
    `${gateway.endpoint}/${gateway.bucket}/${key}`,
  ].join(" ");
  const start = performance.now();
  const sum = await output("sh", ["-c", `${curl} | sha256sum`]);
  const ms = performance.now() - start;
  await Deno.remove(authority);
  return { ms, sha256: sum.slice(0, 64) };
}

async function output(program: string, args: readonly string[]): Promise<string> {
  const ran = await new Deno.Command(program, { args: [...args] }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (!ran.success) throw new Error(`${program}: ${text(ran.stderr)}`);
  return text(ran.stdout);
}
