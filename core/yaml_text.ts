/**
 * Line breaks and unprintables of YAML 1.1 that JSON and later versions of YAML take as they are: a reader
 * of 1.1, which k3s and Helm have, would fold or refuse them.
 */
const UNPRINTABLE = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** A text of which those characters stand inside of double quotes alone, with each as an escape. */
export function escapedForYaml(text: string): string {
  return text.replace(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
