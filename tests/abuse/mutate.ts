import type { JsonValue } from "../../core/json.ts";
import type { Dice } from "./fuzz.ts";
import { mutateBytes } from "./mutate_bytes.ts";

/** A JSON value that may be changed in place. */
type Node = JsonValue | Node[] | { [key: string]: Node };

/** Where a value stands: its container and its key or index there. */
interface Place {
  readonly container: Node[] | { [key: string]: Node };
  readonly key: string;
}

const TEXTS = [
  "",
  " ",
  "\u0000",
  "a\nb: c",
  "\ud800",
  "\u202eevil",
  "\u2066a\u2069\u200f",
  "\u{e0041}\u200b",
  "\x1b[2J\x9b31m",
  "one\r\n2026-01-01T00:00:00Z forged",
  "\udfffhalf",
  "\ufeff",
  "e\u0301".repeat(40),
  "💥".repeat(70),
  "../../etc/passwd",
  "/etc/shadow",
  "..",
  ".",
  "%2e%2e%2f",
  "a/../b",
  "-rf",
  "$(reboot)",
  "x".repeat(64),
  "x".repeat(5_000),
  "9999-12-31T23:59:59-12:00",
  "0000-01-01T00:00:00+12:00",
  "2026-03-02T11:00:00.123456789012345678Z",
  "constructor",
];

/** Numbers as they stand in the text: some no JavaScript value can say. */
const NUMBERS = ["0", "-0", "-1", "1.5", "1e999", "-1e999", "9007199254740993", "1e-400", "1E3"]
  .concat(["9007199254740991", "-9007199254740992", "1e21", "10.0", "0.1", "3.141592653589793238"])
  .concat(["0.30000000000000004", "123456789012345678e-17", "1e16", "100e-2"]);
const RAW = "@raw number@ ";

const KEYS = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "../x",
  "",
  "0",
];

/** Replaces the plain secret in a document: what a careless portal would send. */
export interface SecretWords {
  readonly plain: readonly string[];
  /** Boxes that open with no key of this agent. */
  readonly foreign: readonly string[];
}

/** The bytes of `document`, changed once to three times by structure or at last in its bytes. */
export function mutate(dice: Dice, document: JsonValue, words: SecretWords): Uint8Array {
  const root: { [key: string]: Node } = { root: structuredClone(document) as Node };
  const times = dice.chance(15) ? 0 : 1 + dice.below(3);
  for (let time = 0; time < times && "root" in root; time++) change(dice, root, words);
  let text = JSON.stringify(root["root"]) ?? "";
  text = text.replaceAll(new RegExp(`"${RAW}([^"]*)"`, "g"), "$1");
  if (dice.chance(6)) text = twice(dice, text, words);
  const bytes = new TextEncoder().encode(text);
  return times === 0 || dice.chance(15) ? mutateBytes(dice, bytes) : bytes;
}

function change(dice: Dice, root: { [key: string]: Node }, words: SecretWords): void {
  const places = placesIn(root);
  const place = dice.pick(places);
  const other = dice.pick(places);
  switch (dice.below(12)) {
    case 0:
      return drop(place);
    case 1:
      return put(place, `${RAW}${dice.pick(NUMBERS)}`);
    case 2:
      return put(place, dice.pick(TEXTS));
    case 3:
      return put(place, odd(dice));
    case 4:
      return put(place, nested(dice, get(place)));
    case 5: {
      const mine = structuredClone(get(place));
      put(place, structuredClone(get(other)));
      return put(other, mine);
    }
    case 6:
      return addKey(dice, get(place), dice.pick(KEYS));
    case 7:
      return addKey(dice, get(place), dice.pick(TEXTS));
    case 8:
      return double(get(place));
    default:
      return unseal(dice, places, words);
  }
}

/** Turns a sealed position into something else, or something else into a sealed position. */
function unseal(dice: Dice, places: readonly Place[], words: SecretWords): void {
  const boxes = places.filter((place) => isMap(get(place)) && "sealed" in (get(place) as object));
  if (boxes.length === 0 || dice.chance(15)) {
    return put(dice.pick(places), { sealed: dice.pick(words.foreign) });
  }
  const place = dice.pick(boxes);
  const box = (get(place) as { [key: string]: Node })["sealed"] ?? null;
  const plain = dice.pick(words.plain);
  put(
    place,
    dice.pick<() => Node>([
      () => plain,
      () => ({ sealed: plain }),
      () => ({ sealed: box, plain }),
      () => ({ value: plain }),
      () => ({ sealed: { sealed: box } }),
      () => [box],
      () => ({ sealed: dice.pick(words.foreign) }),
      () => ({ sealed: String(box).slice(0, dice.below(String(box).length)) }),
      () => ({ sealed: String(box).replace(/=*$/, "") }),
      () => ({ sealed: `${String(box)}\n` }),
      () => ({ sealed: flipCharacter(dice, String(box)) }),
      () => null,
    ])(),
  );
}

function flipCharacter(dice: Dice, text: string): string {
  const at = dice.below(Math.max(1, text.length));
  return `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
}

/** The text with a key said twice in one object: the first time with a secret in clear. */
function twice(dice: Dice, text: string, words: SecretWords): string {
  const keys = [...text.matchAll(/[{,]("(?:[^"\\]|\\.)*"):/g)];
  if (keys.length === 0) return text;
  const found = dice.pick(keys);
  const at = found.index + 1;
  const value = JSON.stringify(dice.pick([...words.plain, "x"]));
  return `${text.slice(0, at)}${found[1]}:${value},${text.slice(at)}`;
}

function nested(dice: Dice, value: Node): Node {
  let node = value;
  const depth = dice.pick([1, 1, 2, 60, 64, 65, 400]);
  for (let level = 0; level < depth; level++) node = dice.chance(50) ? [node] : { nested: node };
  return node;
}

function odd(dice: Dice): Node {
  return dice.pick<() => Node>([
    () => null,
    () => true,
    () => [],
    () => ({}),
    () => Array.from({ length: 2_000 }, () => 1),
    () => "y".repeat(dice.pick([300, 70_000, 300_000])),
    () => Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, index])),
  ])();
}

function addKey(dice: Dice, node: Node, key: string): void {
  if (!isMap(node)) return;
  const value = dice.pick<Node>([null, "x", 1, { a: 1 }, []]);
  Object.defineProperty(node, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

function double(node: Node): void {
  if (Array.isArray(node) && node.length > 0) node.push(...structuredClone(node as Node[]));
}

function placesIn(root: { [key: string]: Node }): Place[] {
  const places: Place[] = [];
  const open: Node[] = [root];
  for (let node = open.pop(); node !== undefined && places.length < 4_000; node = open.pop()) {
    if (typeof node !== "object" || node === null) continue;
    for (const [key, value] of Object.entries(node)) {
      places.push({ container: node as { [key: string]: Node }, key });
      open.push(value as Node);
    }
  }
  return places;
}

function get({ container, key }: Place): Node {
  return (container as { [key: string]: Node })[key] ?? null;
}

function put({ container, key }: Place, value: Node): void {
  (container as { [key: string]: Node })[key] = value;
}

function drop({ container, key }: Place): void {
  if (Array.isArray(container)) container.splice(Number(key), 1);
  else delete container[key];
}

function isMap(node: Node): node is { [key: string]: Node } {
  return typeof node === "object" && node !== null && !Array.isArray(node);
}
