import { Secret } from "../../core/secret.ts";
import { print } from "../print.ts";

/** Where secrets come from: never arguments, never the environment, which others on a machine can read. */
export interface Ask {
  /**
   * One secret: typed unseen on a terminal, otherwise the next line of standard input. Throws where
   * there is none.
   */
  secret(what: string): Promise<Secret>;
  /** A secret that is chosen now: on a terminal it is typed twice. */
  newSecret(what: string): Promise<Secret>;
}

/** Asks whoever is at the other end of standard input. */
export function createAsk(): Ask {
  const isTerminal = Deno.stdin.isTerminal();
  let lines: string[] | undefined;

  async function secret(what: string): Promise<Secret> {
    if (isTerminal) return await readUnseen(what);
    if (lines === undefined) {
      lines = (await new Response(Deno.stdin.readable).text()).split("\n");
      if (lines.at(-1) === "") lines.pop();
    }
    const line = lines.shift()?.replace(/\r$/, "");
    if (line === undefined) throw new Error(`standard input has no line for ${what}`);
    return new Secret(line);
  }

  return {
    secret,
    newSecret: async (what) => {
      const first = await secret(what);
      if (isTerminal && (await secret(`${what}, again`)).reveal() !== first.reveal()) {
        throw new Error("the two are not the same");
      }
      return first;
    },
  };
}

async function readUnseen(what: string): Promise<Secret> {
  print("stderr", `${what}: `);
  Deno.stdin.setRaw(true);
  const bytes: number[] = [];
  const chunk = new Uint8Array(64);
  try {
    while (true) {
      const count = await Deno.stdin.read(chunk);
      for (const byte of chunk.subarray(0, count ?? 0)) {
        if (byte === 0x03) throw new Error("stopped");
        if (byte === 0x7f || byte === 0x08) bytes.pop();
        else if (byte !== 0x0d && byte !== 0x0a) bytes.push(byte);
        else return new Secret(new TextDecoder().decode(Uint8Array.from(bytes)));
      }
      if (count === null) throw new Error(`the terminal was closed before ${what} was typed`);
    }
  } finally {
    Deno.stdin.setRaw(false);
    print("stderr", "\n");
  }
}
