/** An element: its name without a prefix, the text directly in it, and the elements in it. */
export interface XmlElement {
  readonly name: string;
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** An element while it is read. */
interface OpenElement {
  readonly name: string;
  text: string;
  readonly children: XmlElement[];
}

const MAX_DEPTH = 16;
/** A page of 1,000 keys has a dozen elements for each; each takes a hundred times its 4 bytes in memory. */
const MAX_ELEMENTS = 40_000;

/** A declaration, a comment, a tag (with what stands before its end), or the text up to the next one. */
const TOKEN =
  /<\?[^<>]*\?>|<!--[^]*?-->|<(?<close>\/?)(?<name>[A-Za-z_][\w.:-]*)(?<attributes>(?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(?<empty>\/?)>|(?<text>[^<]+)/y;

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

/**
 * The root of an XML document as S3 writes them, or null for everything else: what is not well formed,
 * document types (and with them every entity but XML's own five), CDATA, more than {@link MAX_DEPTH}
 * levels or {@link MAX_ELEMENTS} elements. Attributes are passed over.
 */
export function parseXml(document: string): XmlElement | null {
  const root: OpenElement = { name: "", text: "", children: [] };
  const open: OpenElement[] = [root];
  let elements = 0;
  for (let at = 0; at < document.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const groups = TOKEN.exec(document)?.groups;
    const top = open.at(-1);
    if (groups === undefined || top === undefined) return null;
    const { name, text, close, empty } = groups;
    if (text !== undefined) {
      const decoded = decodeEntities(text);
      if (decoded === null || (top === root && decoded.trim() !== "")) return null;
      top.text += decoded;
    } else if (name !== undefined && close !== "") {
      if (open.length === 1 || open.pop()?.name !== localName(name) || empty !== "") return null;
    } else if (name !== undefined) {
      if (++elements > MAX_ELEMENTS) return null;
      const element = { name: localName(name), text: "", children: [] };
      top.children.push(element);
      if (empty === "") open.push(element);
      if (open.length > MAX_DEPTH) return null;
    }
  }
  const [only, ...more] = root.children;
  return open.length === 1 && more.length === 0 ? only ?? null : null;
}

/** The text of the first child of that name. */
export function textOf(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text;
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

function decodeEntities(text: string): string | null {
  let isKnown = true;
  const decoded = text.replaceAll(/&([^;&\s]{1,10};)?/g, (_, reference: string | undefined) => {
    const character = decodeEntity(reference?.slice(0, -1) ?? "");
    if (character === undefined) isKnown = false;
    return character ?? "";
  });
  return isKnown ? decoded : null;
}

function decodeEntity(reference: string): string | undefined {
  const digits = /^#(?:x(?<hex>[0-9a-fA-F]+)|(?<decimal>[0-9]+))$/.exec(reference)?.groups;
  if (digits === undefined) return ENTITIES.get(reference);
  const { hex, decimal } = digits;
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  const isCharacter = code <= 0x10_ffff && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : undefined;
}
