/** Text that is HTML already; everything else is escaped when it becomes part of a page. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** What may stand in a template: text and numbers are escaped, lists are joined, null is nothing. */
export type Part = Html | string | number | null | readonly Part[];

/** A page's part, written as a template: whatever is not {@link Html} itself is escaped. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, index) => {
    const part = index === 0 ? "" : textOf(parts[index - 1] ?? null);
    return text + part + string;
  }, ""));
}

/** JSON for a script element of a type that no browser runs: nothing in it ends the element. */
export function jsonForPage(value: unknown): Html {
  const text = JSON.stringify(value).replace(NO_TEXT, "\ufffd");
  return new Html(text.replace(/[<>&\u2028\u2029]/g, unicodeEscape));
}

function textOf(part: Part): string {
  if (part === null) return "";
  if (part instanceof Html) return part.toString();
  if (typeof part === "string" || typeof part === "number") return escaped(String(part));
  return part.map(textOf).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** What turns the direction of a line round, and what is seen as nothing at all. */
// deno-lint-ignore no-control-regex -- these are what is taken out
const NO_TEXT = /[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]/g;

function escaped(text: string): string {
  return text
    .replace(NO_TEXT, "\ufffd")
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
