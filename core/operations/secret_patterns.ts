/** What stands in the place of a secret. */
export const REDACTED = "[secret]";

/**
 * Takes out what looks like a secret, whoever made it: the rule of last resort for the output of programs
 * whose secrets the agent does not know. The words before a value stay, so that a line can be read.
 */
export function redactPatterns(text: string): string {
  let clean = withoutKeyEnds(text.replace(WHOLE_KEY, REDACTED)).replace(DOTTED, withoutWebToken);
  for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement);
  return withoutFlags(clean).replace(LONG_RUN, (run) => isKeyLike(run) ? REDACTED : run);
}

/**
 * Names of settings, variables, headers and flags whose value is a secret; never the path of a file.
 *
 * No text makes these patterns slow: a repetition in them has a small bound, or it takes in a run of
 * characters that no other attempt takes in again, so twice the text is twice the work.
 */
const SECRET_NAME =
  "(?<!\\bv1\\.)(?:token|secret|passw(?:or)?d|passphrase|pwd|_pass|credentials?|signature|" +
  "authorization|sealed|api[_-]?key|access[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|key-data)" +
  "(?![\\w-]{0,60}file\\b)[\\w-]{0,60}";

/** A private key in PEM, or the rest of the text where its end is missing. */
const WHOLE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g;

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // A k3s token: K10 and the CA's hash (which may have been taken out), then user and password.
  [/(?:\bK10[0-9a-f]{64}|\[secret\])::\S+/g, REDACTED],
  [/(\b(?:Bearer|Basic)\s+)[\w+/.=~-]{8,}/gi, `$1${REDACTED}`],
  // In quotes a value may have blanks; where the quotes are cut off it has the rest of the line.
  [
    new RegExp(
      `(${SECRET_NAME}\\\\?["']?\\s*[:=]\\s*)(?!\\\\?["']?\\[secret\\])` +
        `(\\\\"[^"\\n]*(?:"|$)|"(?:\\\\.|[^"\\\\\\n])*(?:"|$)|'[^'\\n]*(?:'|$)|[^\\s"',}]{4,})`,
      "gim",
    ),
    `$1${REDACTED}`,
  ],
  // User and password of a URL.
  [/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/]+(?=@)/gi, `$1${REDACTED}`],
];

/** What may have a JSON web token in it, such as a ServiceAccount's: three parts with dots between them. */
const DOTTED = /[\w.-]+/g;
const TOKEN_START = "eyJ";
/** Shorter parts are words. */
const MIN_PART = 8;

function withoutWebToken(run: string): string {
  if (!run.includes(TOKEN_START)) return run;
  const parts = run.split(".");
  const clean: string[] = [];
  for (let first = 0; first < parts.length; first++) {
    const part = parts[first] ?? "";
    const start = part.indexOf(TOKEN_START);
    const isToken = start >= 0 && part.length - start >= TOKEN_START.length + MIN_PART &&
      (parts[first + 1] ?? "").length >= MIN_PART && first + 2 < parts.length;
    clean.push(isToken ? part.slice(0, start) + REDACTED : part);
    if (isToken) first += 2;
  }
  return clean.join(".");
}

const WORD = /[\w-]+/g;
const FLAG = new RegExp(`${SECRET_NAME}$`, "i");
/** The end of a word in which the name of a secret flag stands. */
const FLAG_LENGTH = 200;
const FLAG_VALUE = /(\s+)(?!-)\S+/y;

/** The values of flags that stand behind them as a word of their own: `--token abc`. */
function withoutFlags(text: string): string {
  if (!text.includes("--")) return text;
  let clean = "";
  let done = 0;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (index < done || !word.includes("--") || !FLAG.test(word.slice(-FLAG_LENGTH))) continue;
    FLAG_VALUE.lastIndex = index + word.length;
    const blanks = FLAG_VALUE.exec(text)?.[1];
    if (blanks === undefined) continue;
    clean += text.slice(done, index + word.length) + blanks + REDACTED;
    done = FLAG_VALUE.lastIndex;
  }
  return clean + text.slice(done);
}

/** Long enough for a key of 32 bytes in base64, in either alphabet. */
const LONG_RUN = /[A-Za-z0-9+/_-]{40,}={0,2}/g;

/**
 * Base64 of random bytes mixes capitals, small letters and digits and has a slash now and then; hashes in
 * hex, names of objects and paths do not.
 */
function isKeyLike(run: string): boolean {
  const slashes = run.split("/").length - 1;
  return /[a-z]/.test(run) && /[A-Z]/.test(run) && /[0-9]/.test(run) && slashes * 12 <= run.length;
}

const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----/;
/** How a line of a key ends, whatever a log puts before it. */
const KEY_LINE = /[A-Za-z0-9+/]{8}={0,2}$/;
const KEY_LINE_END = 10;

/** The end of a key whose beginning is not in the text: the lines of base64 before it belong to it. */
function withoutKeyEnds(text: string): string {
  if (!KEY_END.test(text)) return text;
  const kept: string[] = [];
  let inKey = false;
  for (const line of text.split("\n").toReversed()) {
    const end = KEY_END.exec(line);
    if (end !== null) kept.push(REDACTED + line.slice(end.index + end[0].length));
    inKey = end !== null || inKey && KEY_LINE.test(line.trimEnd().slice(-KEY_LINE_END));
    if (!inKey) kept.push(line);
  }
  return kept.toReversed().join("\n");
}
