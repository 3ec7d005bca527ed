import type { Clock } from "../../core/ports/clock.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { faultOf } from "./http_error.ts";
import { readLimited } from "./read_limited.ts";

const MAX_ANSWER_BYTES = 64 * 1024;
/** gRPC's prefix of a message: not compressed, then its length. */
const PREFIX_BYTES = 5;

/** How etcd said no: gRPC's status code, and its words. */
export interface EtcdRefusal {
  /** Null where there was no answer of etcd's. */
  readonly status: number | null;
  readonly message: string;
}

/**
 * One call of etcd's API: a gRPC request with one message, and one back. Its client port speaks nothing
 * else, and `fetch` speaks that as long as it speaks HTTP/2; only a failure after a message would be
 * missed, because that stands in the trailers, and these calls have none.
 */
export async function etcdCall(
  client: Deno.HttpClient,
  url: string,
  method: "Cluster/MemberRemove" | "Maintenance/Status",
  message: Uint8Array,
  { clock, totalMs, userAgent }: {
    readonly clock: Clock;
    readonly totalMs: number;
    /** What every request of the agent says of itself (protocol §1). */
    readonly userAgent: string;
  },
): Promise<Result<Uint8Array, EtcdRefusal>> {
  const target = new URL(`/etcdserverpb.${method}`, url);
  const body = new Uint8Array(PREFIX_BYTES + message.length);
  new DataView(body.buffer).setUint32(1, message.length);
  body.set(message, PREFIX_BYTES);
  const deadline = clock.deadline(totalMs);
  const late = Promise.withResolvers<Result<Uint8Array, EtcdRefusal>>();
  const onDeadline = () => late.resolve(noAnswer(`${target.origin}: no answer in ${totalMs} ms`));
  deadline.signal.addEventListener("abort", onDeadline);
  try {
    const exchange = async () => {
      const response = await fetch(target, {
        method: "POST",
        headers: {
          "Content-Type": "application/grpc",
          "TE": "trailers",
          "User-Agent": userAgent,
        },
        body,
        client,
        redirect: "manual",
        signal: deadline.signal,
      });
      const answer = response.body === null
        ? new Uint8Array()
        : await readLimited(response.body, MAX_ANSWER_BYTES, deadline.signal);
      return judge(target.origin, response, answer);
    };
    return await Promise.race([exchange(), late.promise]);
  } catch (thrown) {
    return noAnswer(faultOf(thrown, target).message);
  } finally {
    deadline.signal.removeEventListener("abort", onDeadline);
    deadline.clear();
  }
}

function judge(
  origin: string,
  response: Response,
  answer: Uint8Array | null,
): Result<Uint8Array, EtcdRefusal> {
  const status = Number(response.headers.get("grpc-status") ?? 0);
  if (response.status !== 200 || answer === null) {
    return noAnswer(`${origin} answered ${response.status}`);
  }
  if (status !== 0) {
    const words = response.headers.get("grpc-message") ?? "";
    return fail({ status, message: `${origin}: ${decodeWords(words)} (${status})` });
  }
  if (answer.length < PREFIX_BYTES) return noAnswer(`${origin} answered without a message`);
  return ok(answer.subarray(PREFIX_BYTES));
}

function noAnswer(message: string): Result<never, EtcdRefusal> {
  return fail({ status: null, message });
}

/** gRPC sends its words percent-encoded. */
function decodeWords(words: string): string {
  try {
    return decodeURIComponent(words);
  } catch {
    return words;
  }
}
