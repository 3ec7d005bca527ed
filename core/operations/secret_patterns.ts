/** What stands in the place of a secret. */
export const REDACTED = "[secret]";

/**
 * Takes out what looks like a secret, whoever made it: the rule of last resort for the output of programs
 * whose secrets the agent does not know. The words before a value stay, so that a line can be read.
 */
export function redactPatterns(text: string): string {
  let clean = withoutKeyEnds(text.replace(WHOLE_KEY, REDACTED));
  for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement);
  return clean.replace(LONG_RUN, (run) => isKeyLike(run) ? REDACTED : run);
}

/**
 * Names of settings, variables, headers and flags whose value is a secret; never the path of a file. Every
 * repetition in these patterns has a bound, so that no text makes them slow.
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
  // A JSON web token, such as a ServiceAccount's.
  [/\beyJ[\w-]{8,4000}\.[\w-]{8,4000}\.[\w-]*/g, REDACTED],
  [/(\b(?:Bearer|Basic)\s+)[\w+/.=~-]{8,}/gi, `$1${REDACTED}`],
  // In quotes a value may have blanks.
  [
    new RegExp(
      `(${SECRET_NAME}\\\\?["']?\\s*[:=]\\s*)(?!\\\\?["']?\\[secret\\])` +
        `(\\\\"[^"\\n]*"|"(?:\\\\.|[^"\\\\\\n])*"|'[^'\\n]*'|[^\\s"',}]{4,})`,
      "gi",
    ),
    `$1${REDACTED}`,
  ],
  [new RegExp(`(--[\\w-]{0,60}${SECRET_NAME}\\s+)(?!-)(\\S+)`, "gi"), `$1${REDACTED}`],
  // User and password of a URL.
  [/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/]+(?=@)/gi, `$1${REDACTED}`],
];

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
/** A line of a key, with whatever a log puts before it. */
const KEY_LINE = /[A-Za-z0-9+/]{8,}={0,2}[ \t]*$/;

/** The end of a key whose beginning is not in the text: the lines of base64 before it belong to it. */
function withoutKeyEnds(text: string): string {
  if (!KEY_END.test(text)) return text;
  const kept: string[] = [];
  let inKey = false;
  for (const line of text.split("\n").toReversed()) {
    const end = KEY_END.exec(line);
    if (end !== null) kept.push(REDACTED + line.slice(end.index + end[0].length));
    inKey = end !== null || inKey && KEY_LINE.test(line);
    if (!inKey) kept.push(line);
  }
  return kept.toReversed().join("\n");
}
