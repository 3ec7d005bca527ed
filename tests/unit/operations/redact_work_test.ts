import assert from "node:assert/strict";
import { createRedactor } from "../../../core/operations/redact.ts";
import { Secret } from "../../../core/secret.ts";

const HASH = "0123456789abcdef".repeat(4);
const END = "\n-----END PRIVATE KEY-----";

/** Texts that are made to be slow: each is a rule's own beginning, again and again, without its end. */
const ADVERSARIAL: Readonly<Record<string, (length: number) => string>> = {
  "begins of web tokens": (n) => repeated("eyJ-", n),
  "web tokens without an end": (n) => repeated("eyJaaaaaaaaa.", n),
  "one web token": (n) =>
    `eyJ${repeated("a", n / 3)}.${repeated("b", n / 3)}.${repeated("c", n / 3)}`,
  "flags": (n) => repeated("--token", n),
  "words of flags": (n) => repeated(`--${"pwd".repeat(60)} `, n),
  "dashes": (n) => repeated("-", n),
  "a flag and blanks": (n) => `--token${repeated(" ", n)}-`,
  "names of settings": (n) => repeated("pwd", n),
  "names and blanks": (n) => "pwdpwdpwdpwd" + repeated(" ", n),
  "settings without values": (n) => repeated("token= ", n),
  "quotes without an end": (n) => repeated('pwd="', n),
  "quotes in quotes": (n) => repeated('pwd=\\"', n),
  "one quote without an end": (n) => 'tokentokentoken="' + repeated("a\\", n),
  "a line that could be a key's": (n) => `${repeated("a", n)}!${END}`,
  "a line of a key and blanks": (n) => `aaaaaaaa${repeated(" ", n)}!${END}`,
  "lines of a key": (n) => repeated("abcdefgh\n", n) + END,
  "begins of keys": (n) => repeated("-----BEGIN ", n),
  "ends of keys": (n) => repeated("-----END ", n),
  "a bearer and blanks": (n) => `Bearer${repeated(" ", n)}`,
  "a URL without a user": (n) => `https://${repeated("a", n)}`,
  "schemes": (n) => repeated("a.", n),
  "k3s's tokens": (n) => repeated(`K10${HASH}`, n),
  "taken out already": (n) => repeated("[secret]::", n),
  "base64": (n) => repeated("aB3/", n),
  "one letter": (n) => repeated("a", n),
  "blanks": (n) => repeated(" ", n),
};

function repeated(part: string, length: number): string {
  return part.repeat(Math.ceil(length / part.length)).slice(0, length);
}

/** How long one run takes, milliseconds. */
function timeOf(text: string): number {
  const begun = performance.now();
  createRedactor().redact(text);
  return performance.now() - begun;
}

/** Rounds until the shortest runs are told apart from a busy machine's, which only makes runs longer. */
const ROUNDS = 30;

/** Whether four times the text is far from sixteen times the work, by the shortest runs so far. */
function isLinear(small: string, large: string): boolean {
  const best = [Infinity, Infinity];
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, text] of [small, large].entries()) {
      best[at] = Math.min(best[at] ?? Infinity, timeOf(text));
    }
    const [one = 0, four = 0] = best;
    // A millisecond is noise.
    if (round >= 2 && four <= 10 * one + 20) return true;
  }
  return false;
}

for (const [what, make] of Object.entries(ADVERSARIAL)) {
  Deno.test(`redact: twice the text is no more than a few times the work: ${what}`, () => {
    assert.ok(isLinear(make(62_500), make(250_000)), "four times the text is too much work");
    createRedactor().redact(make(1_000_000));
  });
}

for (
  const [text, clean] of [
    ['password="correct horse battery', "password=[secret]"],
    ["password='correct horse battery\nnext", "password=[secret]\nnext"],
    ['{\\"password\\":\\"correct horse', '{\\"password\\":[secret]'],
    [`x-eyJ${"a".repeat(6_000)}.${"b".repeat(6_000)}.${"c".repeat(30)} y`, "x-[secret] y"],
    [`a.eyJ${"a".repeat(20)}.${"b".repeat(20)}.c.d`, "a.[secret].d"],
    [`--${"x".repeat(300)}-token hunter22 y`, `--${"x".repeat(300)}-token [secret] y`],
    ["--token   hunter22 --secret-key abc", "--token   [secret] --secret-key [secret]"],
    ["--token --debug", "--token --debug"],
    ["--token-file /etc/token", "--token-file /etc/token"],
  ] as const
) {
  Deno.test(`redact: ${JSON.stringify(text).slice(0, 60)}`, () => {
    assert.equal(createRedactor().redact(text), clean);
  });
}

Deno.test("redact: in a line of a megabyte no secret stays, wherever it stands", () => {
  const redactor = createRedactor();
  redactor.know(new Secret("a-secret-of-ours"));
  for (const at of [0, 4_090, 16_380, 65_530, 500_000, 999_900]) {
    const filler = repeated("word ", 1_000_000);
    const text = `${filler.slice(0, at)} a-secret-of-ours token=hunter22 ${filler.slice(at)}`;
    const clean = redactor.redact(text);
    assert.doesNotMatch(clean, /a-secret-of-ours|hunter22/);
  }
});
