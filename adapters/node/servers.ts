import { namespaceUid } from "../../core/cluster/kubernetes_facts.ts";
import { tokenPassword } from "../../core/host/k3s_token.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Disk } from "../../core/ports/disk.ts";
import type { EtcdMember, ServerError, Servers, ServerView } from "../../core/ports/servers.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Secret } from "../../core/secret.ts";
import { etcdCall, type EtcdRefusal } from "./etcd_call.ts";
import { withoutProxyVariables } from "./http_clients.ts";
import { kubeExchange } from "./kube_exchange.ts";
import { createKubeSessions } from "./kube_sessions.ts";
import { servedCa } from "./served_ca.ts";
import { numberIn, numberMessage } from "./protobuf.ts";

/** What the other servers are reached with. */
export interface NodeServersOptions {
  /** Where k3s's certificates and its kubeconfig are read. */
  readonly disk: Disk;
  readonly clock: Clock;
  /** The agent's version, for `User-Agent`. */
  readonly version: string;
}

const TLS = "/var/lib/rancher/k3s/server/tls";
const KUBE_SYSTEM = "/api/v1/namespaces/kube-system";
/** Answers k3s's own question before it joins: the members of etcd, as a majority has them. */
const MEMBERS = "/db/info";
const TOTAL_MS = 10_000;
/** etcd's words, in gRPC's numbers: no such member. */
const NOT_FOUND = 5;
/** A status of etcd: the member that it holds for the leader. */
const LEADER_FIELD = 4;

/** The other servers, by k3s's supervisor (port 6443) and etcd's client port. */
export function createNodeServers(options: NodeServersOptions): Servers {
  const { disk, clock, version } = options;
  const userAgent = `pbx-agent/${version}`;

  async function pem(path: string): Promise<Result<string, ServerError>> {
    const read = await disk.read(path, 1024 * 1024);
    if (!read.ok) return fail({ code: "missing", message: read.error.message });
    if (read.value === null) {
      return fail({ code: "missing", message: `${path} is not there: k3s has not run here yet` });
    }
    return ok(new TextDecoder().decode(read.value));
  }

  /** One GET of the supervisor, with the cluster's token. */
  async function members(url: string, token: Secret): Promise<Result<EtcdMember[], ServerError>> {
    const authority = await pem(`${TLS}/server-ca.crt`);
    if (!authority.ok) return authority;
    const client = createClient({ caCerts: [authority.value] });
    if (client === null) return fail(unusable(`${TLS}/server-ca.crt`));
    try {
      const user = new TextEncoder().encode(`server:${tokenPassword(token).reveal()}`);
      const basic = encodeBase64(user);
      const answer = await kubeExchange(
        { access: { server: url }, client, release: () => {} },
        {
          method: "GET",
          path: MEMBERS,
          headers: headers({ Authorization: `Basic ${basic}` }),
          totalMs: TOTAL_MS,
        },
        clock,
      );
      if (!answer.ok) return fail({ code: "unreachable", message: answer.error });
      const { status, body } = answer.value;
      if (status !== 200) return fail(refusedWith(`${url}${MEMBERS}`, status));
      const found = parseMembers(new TextDecoder().decode(body));
      return found === null
        ? fail({ code: "refused", message: `${url} shows no members of etcd` })
        : ok(found);
    } finally {
      client.close();
    }
  }

  /** One GET of the API, as the administrator that k3s's kubeconfig names. */
  async function kubeSystemUid(url: string): Promise<Result<string, ServerError>> {
    const sessions = createKubeSessions(disk);
    const session = await sessions.open();
    if (!session.ok) return fail({ code: "missing", message: session.error });
    try {
      const { access, client, release } = session.value;
      const there = { access: { ...access, server: url }, client, release };
      const request = {
        method: "GET",
        path: KUBE_SYSTEM,
        headers: headers(),
        totalMs: TOTAL_MS,
      } as const;
      const answer = await kubeExchange(there, request, clock);
      if (!answer.ok) return fail({ code: "unreachable", message: answer.error });
      if (answer.value.status !== 200) return fail(refusedWith(url, answer.value.status));
      const object = parseJson(new TextDecoder().decode(answer.value.body));
      const uid = isJsonObject(object) ? namespaceUid(object) : null;
      return uid === null
        ? fail({ code: "refused", message: `${url} shows no kube-system` })
        : ok(uid);
    } finally {
      session.value.release();
      sessions.close();
    }
  }

  /** Where this node's own API is, by the kubeconfig. */
  async function ownServer(): Promise<Result<string, string>> {
    const sessions = createKubeSessions(disk);
    const session = await sessions.open();
    if (session.ok) session.value.release();
    sessions.close();
    return session.ok ? ok(session.value.access.server) : session;
  }

  function headers(more: Readonly<Record<string, string>> = {}): Record<string, string> {
    return { "Accept": "application/json", "User-Agent": userAgent, ...more };
  }

  /** One call of a member's etcd, as k3s's own client of etcd. */
  async function call(
    member: EtcdMember,
    method: Parameters<typeof etcdCall>[2],
    message: Uint8Array,
  ): Promise<Result<Uint8Array, EtcdRefusal | ServerError>> {
    const [url] = member.clientUrls;
    if (url === undefined) {
      // It was added to etcd and has never started.
      return fail({ code: "unreachable", message: `${member.name || "a member"} has no address` });
    }
    const files = [];
    for (const name of ["server-ca.crt", "client.crt", "client.key"]) {
      const file = await pem(`${TLS}/etcd/${name}`);
      if (!file.ok) return file;
      files.push(file.value);
    }
    const [authority = "", cert = "", key = ""] = files;
    // Without HTTP/1 there is nothing to agree on: gRPC is HTTP/2.
    const client = createClient({ http1: false, http2: true, caCerts: [authority], cert, key });
    if (client === null) return fail(unusable(`${TLS}/etcd`));
    try {
      const how = { clock, totalMs: TOTAL_MS, userAgent };
      return await etcdCall(client, url, method, message, how);
    } finally {
      client.close();
    }
  }

  return {
    async authority(url): Promise<Result<Uint8Array, ServerError>> {
      const server = url === null ? await ownServer() : ok(url);
      if (!server.ok) return fail({ code: "missing", message: server.error });
      const served = await servedCa(server.value, TOTAL_MS, userAgent);
      return served.ok ? served : fail({ code: "unreachable", message: served.error });
    },
    async look(url, token): Promise<Result<ServerView, ServerError>> {
      const found = await members(url, token);
      if (!found.ok) return found;
      const uid = await kubeSystemUid(url);
      return uid.ok ? ok({ kubeSystemUid: uid.value, members: found.value }) : uid;
    },

    async isHealthy(member) {
      const status = await call(member, "Maintenance/Status", new Uint8Array());
      if (!status.ok) return false;
      const leader = numberIn(status.value, LEADER_FIELD);
      return leader !== null && leader !== 0n;
    },

    async removeMember(through, { id }) {
      const removed = await call(through, "Cluster/MemberRemove", numberMessage(1, BigInt(id)));
      if (removed.ok) return ok(undefined);
      const { error } = removed;
      if ("code" in error) return fail(error);
      if (error.status === NOT_FOUND) return ok(undefined);
      return fail({
        code: error.status === null ? "unreachable" : "refused",
        message: error.message,
      });
    },
  };
}

/** The members in k3s's answer. Their IDs are larger than a number can be, and are kept as text. */
export function parseMembers(text: string): EtcdMember[] | null {
  const value = parseJson(text.replace(/("ID"\s*:\s*)([0-9]+)/g, '$1"$2"'));
  const members = isJsonObject(value) ? value["members"] : undefined;
  if (!Array.isArray(members) || members.length === 0) return null;
  const found = members.filter(isJsonObject).map(memberOf);
  return found.includes(null) || found.length < members.length ? null : found as EtcdMember[];
}

function memberOf({ ID, name, clientURLs, isLearner }: JsonObject): EtcdMember | null {
  if (typeof ID !== "string") return null;
  const urls = Array.isArray(clientURLs) ? clientURLs : [];
  return {
    id: ID,
    // One that was added and has not started yet has neither name nor URLs.
    name: typeof name === "string" ? name : "",
    clientUrls: urls.filter((url): url is string => typeof url === "string" && URL.canParse(url)),
    isLearner: isLearner === true,
  };
}

/** What a status means; 401 and 403 will not become better by waiting. */
function refusedWith(what: string, status: number): ServerError {
  if (status === 401 || status === 403) {
    return { code: "refused", message: `${what} does not take this node's token (${status})` };
  }
  if (status === 404) {
    return { code: "refused", message: `${what} answered 404: it is no k3s server with etcd` };
  }
  return {
    code: "unreachable",
    message: `${what} answered ${status}: its etcd has no majority now`,
  };
}

function unusable(what: string): ServerError {
  return { code: "missing", message: `${what} holds certificates or a key that cannot be used` };
}

function createClient(
  options: Deno.CreateHttpClientOptions | (Deno.CreateHttpClientOptions & Deno.TlsCertifiedKeyPem),
): Deno.HttpClient | null {
  try {
    return withoutProxyVariables(() => Deno.createHttpClient({ http2: false, ...options }));
  } catch {
    return null;
  }
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
