import type { Disk } from "../../core/ports/disk.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { withoutProxyVariables } from "./http_clients.ts";
import { type KubeAccess, parseKubeconfig } from "./kubeconfig.ts";

/** The kubeconfig that k3s writes, and writes anew when its certificates change. */
const KUBECONFIG = "/etc/rancher/k3s/k3s.yaml";
const MAX_KUBECONFIG_BYTES = 256 * 1024;

/** A client for the cluster that the kubeconfig names now. */
export interface KubeSession {
  readonly access: KubeAccess;
  readonly client: Deno.HttpClient;
  /** To be called when the exchange is over. */
  release(): void;
}

/** Clients for the Kubernetes API, one for each content that the kubeconfig had. */
export interface KubeSessions {
  /**
   * The session of the kubeconfig as it is now. The file is read each time: it is small, and its times
   * and size may be the same after a change. The error says why there is none.
   */
  open(): Promise<Result<KubeSession, string>>;
  /** Closes idle connections; sessions in use end with their release. */
  close(): void;
}

interface Current {
  readonly text: string;
  readonly access: KubeAccess;
  readonly client: Deno.HttpClient;
  users: number;
  retired: boolean;
}

/** Sessions for whatever cluster the kubeconfig on `disk` names; nothing is read before the first use. */
export function createKubeSessions(disk: Disk): KubeSessions {
  let current: Current | null = null;

  /** A retired client is closed by whoever uses it last, so that no running exchange loses it. */
  function retire(): void {
    const old = current;
    current = null;
    if (old === null) return;
    old.retired = true;
    if (old.users === 0) old.client.close();
  }

  function use(session: Current): KubeSession {
    session.users++;
    let released = false;
    return {
      access: session.access,
      client: session.client,
      release: () => {
        if (released) return;
        released = true;
        session.users--;
        if (session.retired && session.users === 0) session.client.close();
      },
    };
  }

  return {
    open: async () => {
      const text = await readKubeconfig(disk);
      if (text.ok && current !== null && current.text === text.value) return ok(use(current));
      retire();
      if (!text.ok) return text;
      const access = parseKubeconfig(text.value);
      if (!access.ok) return fail(`${KUBECONFIG} ${access.error}`);
      const client = createClient(access.value);
      if (!client.ok) return client;
      current = {
        text: text.value,
        access: access.value,
        client: client.value,
        users: 0,
        retired: false,
      };
      return ok(use(current));
    },
    close: retire,
  };
}

async function readKubeconfig(disk: Disk): Promise<Result<string, string>> {
  const read = await disk.read(KUBECONFIG, MAX_KUBECONFIG_BYTES);
  if (!read.ok) return fail(read.error.message);
  if (read.value === null) {
    return fail(`${KUBECONFIG} is not there: k3s writes it when its API comes up`);
  }
  return ok(new TextDecoder().decode(read.value));
}

function createClient(access: KubeAccess): Result<Deno.HttpClient, string> {
  const { authority, clientCertificate } = access;
  try {
    return ok(withoutProxyVariables(() =>
      Deno.createHttpClient({
        // One request a connection at a time: ending one at its deadline ends nothing else.
        http2: false,
        ...(authority === undefined ? {} : { caCerts: [authority] }),
        ...(clientCertificate === undefined ? {} : {
          cert: clientCertificate.cert,
          key: clientCertificate.key.reveal(),
        }),
      })
    ));
  } catch {
    return fail(`${KUBECONFIG} holds certificates or a key that cannot be used`);
  }
}
