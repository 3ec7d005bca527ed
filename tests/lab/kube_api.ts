import { createPrivateKey } from "node:crypto";
import { join } from "node:path";
import { withoutProxyVariables } from "../../adapters/node/http_clients.ts";
import {
  type Certificate,
  makeAuthority,
  makeClientCertificate,
  makeKeyPair,
  makeServerCertificate,
} from "./certificates.ts";
import { freePort } from "./free_port.ts";
import { type LabProcess, startLabProcess } from "./lab_process.ts";
import { findPart } from "./parts.ts";
import { pauseProcess } from "./pause_process.ts";
import { waitUntil } from "./wait_until.ts";

/** A real Kubernetes API server on its own etcd, both on 127.0.0.1, their state in a temporary folder. */
export interface KubeApi {
  readonly url: string;
  readonly port: number;
  /** Path of a kubeconfig with a client certificate of group `system:masters`, as k3s writes it. */
  readonly kubeconfig: string;
  /** The certificate authority of the API server. */
  readonly authority: Certificate;
  /** Path of the audit log (one JSON object a line, level Metadata); null unless asked for. */
  readonly auditLog: string | null;
  /** Stops the API server's process as it is (SIGSTOP): connections stay, nothing answers from then on. */
  pause(): Promise<void>;
  /** Lets a paused API server go on. */
  resume(): void;
  /** Ends the API server alone; its etcd goes on. */
  stopServer(): Promise<void>;
  /**
   * Starts the API server again after {@link KubeApi.stopServer}, on the same etcd and port, and does
   * not wait: what it answers until it is ready is what the caller wants to see.
   */
  startServer(options?: { readonly watchCache?: boolean }): void;
  /** Ends both processes and removes their folder. */
  stop(): Promise<void>;
}

const START_LIMIT_MS = 60_000;

const AUDIT_POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n" +
  "  omitStages: [RequestReceived]\n";

/** Starts etcd and kube-apiserver and resolves once `/readyz` answers 200. */
export async function startKubeApi(options: { readonly audit?: boolean } = {}): Promise<KubeApi> {
  const [etcdFile, apiFile] = [await findPart("etcd"), await findPart("kube-apiserver")];
  const directory = await Deno.makeTempDir({ prefix: "pbx-kube-api-" });
  const running: { etcd?: LabProcess; api?: LabProcess } = {};
  const resume = (): void => {
    if (running.api !== undefined) trySignal(running.api, "SIGCONT");
  };
  const stopServer = async (): Promise<void> => {
    // A paused process takes SIGTERM only once it runs again.
    resume();
    await running.api?.stop();
  };
  const stop = async (): Promise<void> => {
    await stopServer();
    await running.etcd?.stop();
    await Deno.remove(directory, { recursive: true });
  };
  try {
    const [etcdPort, peerPort, port] = [freePort(), freePort(), freePort()];
    const authority = await writeCertificates(directory);
    const url = `https://127.0.0.1:${port}`;
    const kubeconfig = await writeKubeconfig(directory, url, authority);
    const auditLog = options.audit === true ? join(directory, "audit.log") : null;
    if (auditLog !== null) await Deno.writeTextFile(join(directory, "audit.yaml"), AUDIT_POLICY);

    const startServer = ({ watchCache = true } = {}): LabProcess => {
      const args = apiArguments(etcdPort, port, auditLog !== null);
      const cache = `--watch-cache=${watchCache}`;
      return running.api = startLabProcess(apiFile, [...args, cache], { cwd: directory });
    };

    const etcd = etcdArguments(directory, etcdPort, peerPort);
    running.etcd = startLabProcess(etcdFile, etcd, { cwd: directory });
    const both = [running.etcd, startServer()];
    await Promise.race([untilReady(url, authority), ...both.map(refuseEnd)]);
    return {
      url,
      port,
      kubeconfig,
      authority,
      auditLog,
      pause: async () => {
        if (running.api !== undefined) await pauseProcess(running.api.pid);
      },
      resume,
      stopServer,
      startServer,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function etcdArguments(directory: string, client: number, peer: number): string[] {
  const clientUrl = `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  return [
    "--name=lab",
    `--data-dir=${join(directory, "etcd")}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=lab=${peerUrl}`,
    // The state dies with the test, so it need not outlive a power cut.
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
}

/** Paths are relative to the folder that both programs run in. */
function apiArguments(etcdPort: number, port: number, audit: boolean): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${port}`,
    // Without it the server would keep an Endpoints object of itself and write to it all the time.
    "--endpoint-reconciler-type=none",
    "--tls-cert-file=server.crt",
    "--tls-private-key-file=server.key",
    "--client-ca-file=ca.crt",
    "--cert-dir=.",
    // As k3s does it: who has no certificate or token gets 401 even at /readyz.
    "--anonymous-auth=false",
    "--authorization-mode=Node,RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-account-key-file=accounts.pub",
    "--service-account-signing-key-file=accounts.key",
    "--service-cluster-ip-range=10.96.0.0/16",
    "--profiling=false",
    ...audit ? ["--audit-policy-file=audit.yaml", "--audit-log-path=audit.log"] : [],
  ];
}

async function writeCertificates(directory: string): Promise<Certificate> {
  const authority = await makeAuthority("lab-server-ca");
  const server = await makeServerCertificate(authority);
  const accounts = await makeKeyPair();
  const files = {
    "ca.crt": authority.cert,
    "server.crt": server.cert,
    "server.key": server.key,
    "accounts.pub": accounts.public,
    "accounts.key": accounts.private,
  };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(join(directory, name), text, { mode: 0o600 });
  }
  return authority;
}

async function writeKubeconfig(
  directory: string,
  server: string,
  authority: Certificate,
): Promise<string> {
  const admin = await makeClientCertificate(authority, "system:admin", "system:masters");
  // As k3s writes it: "BEGIN EC PRIVATE KEY".
  const key = createPrivateKey(admin.key).export({ type: "sec1", format: "pem" });
  const file = join(directory, "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: "default",
      cluster: { server, "certificate-authority-data": btoa(authority.cert) },
    }],
    users: [{
      name: "default",
      user: { "client-certificate-data": btoa(admin.cert), "client-key-data": btoa(String(key)) },
    }],
    contexts: [{ name: "default", context: { cluster: "default", user: "default" } }],
    "current-context": "default",
  };
  // JSON is YAML.
  await Deno.writeTextFile(file, JSON.stringify(config, null, 2), { mode: 0o600 });
  return file;
}

async function untilReady(url: string, authority: Certificate): Promise<void> {
  const viewer = await makeClientCertificate(authority, "lab", "system:masters");
  using client = withoutProxyVariables(() =>
    Deno.createHttpClient({ caCerts: [authority.cert], ...viewer })
  );
  await waitUntil("the API server's /readyz", async () => {
    const answer = await fetch(`${url}/readyz`, { client });
    await answer.body?.cancel();
    return answer.status === 200 || undefined;
  }, { timeoutMs: START_LIMIT_MS });
}

async function refuseEnd(process: LabProcess): Promise<never> {
  await process.exited;
  throw new Error(`a part of the lab's API server ended:\n${process.stderr.slice(-15).join("\n")}`);
}

function trySignal(process: LabProcess, signal: Deno.Signal): void {
  try {
    Deno.kill(process.pid, signal);
  } catch {
    // It has ended.
  }
}
