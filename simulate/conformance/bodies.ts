import { isJsonObject } from "../../core/json.ts";
import { ReleaseVersion } from "../../core/protocol/identifiers.ts";
import { ACCEPTED, errorCode, type Expected, REFUSED } from "./expected.ts";
import { bytesOf, type Kit, type Player } from "./kit.ts";
import { reportOf } from "./report_body.ts";

/** Longest body of the protocol, in bytes (protocol §1). */
const MOST_BYTES = 262_144;
const FORBIDDEN_KEYS = ["__proto__", "constructor", "prototype"] as const;

/** Bodies at the edge of what a portal takes, and beyond. */
export async function walkBodies(kit: Kit, player: Player): Promise<void> {
  const report = () => bytesOf(reportOf(kit, player));
  const send = (body: Uint8Array, as: string) => kit.ask(player, { path: "/sync", body, as });

  const largest = await send(padded(report(), MOST_BYTES), `a body of ${MOST_BYTES} bytes`);
  kit.expect("request.largest", largest, ACCEPTED);
  const tooLarge = await send(
    padded(report(), MOST_BYTES + 1),
    `a body of ${MOST_BYTES + 1} bytes`,
  );
  // A portal may hang up instead of reading to the end.
  if (tooLarge.failure?.startsWith("cut")) kit.book.pass("request.too_large");
  else kit.expect("request.too_large", tooLarge, REFUSED);

  const cut = report();
  kit.expect("request.no_json", await send(cut.slice(0, -1), "a body that breaks off"), REFUSED);
  const { node: _node, ...rest } = reportOf(kit, player);
  const partial = await send(bytesOf(rest), "a report without its node");
  kit.expect("request.schema", partial, REFUSED);
  for (const key of FORBIDDEN_KEYS) {
    const text = new TextDecoder().decode(report());
    const body = new TextEncoder().encode(text.replace('"pending":{', `"pending":{"${key}":{},`));
    kit.expect("request.forbidden_keys", await send(body, `with the key ${key}`), REFUSED);
  }
  const unknown = bytesOf(reportOf(kit, player, { conformance: { of: "tomorrow" } }));
  const exchange = await send(unknown, "with a field that the protocol does not know");
  if (exchange.answer?.status === 400) {
    kit.book.pass("request.unknown_fields", "refused: reports of newer agents may not be taken");
  } else kit.expect("request.unknown_fields", exchange, ACCEPTED);

  const older = await kit.ask(player, {
    path: "/sync",
    body: report(),
    headers: { "PBX-Protocol": "0" },
    as: "of protocol 0",
  });
  kit.expect("request.protocol", older, OTHER_PROTOCOL);
}

const OTHER_PROTOCOL: Expected = {
  says: "a refusal; where it is a 426, protocol_too_old with a release",
  holds(answer) {
    if (answer.status !== 426) return REFUSED.holds(answer);
    const error = isJsonObject(answer.json) ? answer.json["error"] : undefined;
    const release = isJsonObject(error) ? error["release"] : undefined;
    return errorCode(answer) === "protocol_too_old" && ReleaseVersion.safeParse(release).success;
  },
};

/** The same JSON with blanks behind it, `length` bytes in all. */
function padded(body: Uint8Array, length: number): Uint8Array {
  const longer = new Uint8Array(length).fill(0x20);
  longer.set(body);
  return longer;
}
