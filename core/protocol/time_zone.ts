/** The three-letter names that the IANA database has. The runtime takes others of its own. */
const THREE_LETTER_ZONES: ReadonlySet<string> = new Set(
  ["CET", "EET", "EST", "GMT", "HST", "MET", "MST", "PRC", "ROC", "ROK", "UCT", "UTC", "WET"],
);

/**
 * Whether `name` is an IANA time zone that this runtime knows (protocol §4). Offsets such as `+02:00` are
 * none, and neither are the runtime's own abbreviations, which mislead: it takes `BST` for Bangladesh.
 * Names are compared without regard to case, as the database wants it.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name) || /^SystemV\//i.test(name)) return false;
  if (name.length === 3 && !THREE_LETTER_ZONES.has(name.toUpperCase())) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
