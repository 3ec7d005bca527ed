/**
 * Text from elsewhere (the portal, k3s, the Kubernetes API, a bucket, file names) on its way to a terminal,
 * a log or a page. Characters that steer a terminal, end a line or cannot be seen are shown as `\u202e`
 * and so on: nothing is left out, and nothing can make a text look like another one.
 */

/**
 * Control and format characters (those that turn the direction of text and the tags among them), line and
 * paragraph separators, what is by default not drawn (zero-width characters, fillers), halves of characters.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A text that stays on its line. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (character) => SHORT_ESCAPES[character] ?? escaped(character));
}

/** A text of several lines: each stays on its own. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(printable).join("\n");
}

/**
 * What a program prints, JSON or not: its line ends and tabs stay. In JSON the escapes are JSON's own, and
 * its values stay what they are.
 */
export function printableOutput(text: string): string {
  return text.replace(
    UNSEEN,
    (unseen) => unseen === "\n" || unseen === "\t" ? unseen : escaped(unseen),
  );
}

/** In UTF-16 units, as JSON has them. */
function escaped(character: string): string {
  return character.split("")
    .map((unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0"))
    .join("");
}
