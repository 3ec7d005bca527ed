import { type Answer, refuse, type WireRequest } from "../../../adapters/portal/http/message.ts";
import { listen } from "../../../adapters/portal/http/listener.ts";
import { makeCertificate } from "../../../adapters/portal/tls.ts";

/** What a man in the middle answers. `truth` asks the portal, with this request or another one. */
export type Attack = (
  request: Asked,
  truth: (request?: Asked) => Promise<Answer>,
) => Answer | Promise<Answer>;

/** A request that reached the middle. */
export type Asked = WireRequest & { readonly body: Uint8Array };

/** Somebody between agent and portal, with a certificate that the agent trusts. */
export interface Middle {
  readonly origin: string;
  readonly caPem: string;
  /** Where the portal is; set before the first request. */
  portal: string;
  /** Null: hands everything on as it is. */
  attack: Attack | null;
  close(): Promise<void>;
}

/** The headers of a connection, which are not the message's. */
const OF_THE_CONNECTION = ["connection", "content-length", "date", "host", "transfer-encoding"];

/** Starts one. */
export async function startMiddle(): Promise<Middle> {
  const certificate = await makeCertificate(Date.now());

  async function truth({ method, target, headers, body }: Asked): Promise<Answer> {
    const kept = [...headers].filter(([name]) => !OF_THE_CONNECTION.includes(name));
    const answer = await fetch(new URL(target, middle.portal), {
      method,
      headers: kept,
      redirect: "manual",
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    });
    return {
      status: answer.status,
      headers: Object.fromEntries(
        [...answer.headers].filter(([name]) => !OF_THE_CONNECTION.includes(name)),
      ),
      body: new Uint8Array(await answer.arrayBuffer()),
    };
  }

  const listener = listen({
    port: 0,
    tls: certificate,
    maxBody: 262_144,
    now: Date.now,
    full: () => Promise.resolve(),
    async handle(request) {
      if (request.body === "too_large") {
        return { kind: "answer", answer: refuse(413, "body_too_large", "m") };
      }
      const asked = { ...request, body: request.body };
      const answer = middle.attack === null
        ? await truth(asked)
        : await middle.attack(asked, (other = asked) => truth(other));
      return { kind: "answer", answer };
    },
  });
  const middle: Middle = {
    origin: `https://127.0.0.1:${listener.port}`,
    caPem: certificate.cert,
    portal: "",
    attack: null,
    close: () => listener.down(),
  };
  return middle;
}
