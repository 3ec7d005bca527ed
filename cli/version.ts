/** The program's version; the same as in deno.json, which a test checks. */
export const VERSION = "0.1.0";
