/**
 * Whether NO_PROXY says that `host` is reached directly. The entries are separated by commas or blanks:
 * `*`; a domain, which covers its subdomains, with or without a leading `.` or `*.`; an address; an
 * address range (`10.0.0.0/8`, `fd00::/8`). Any but `*` may end in `:port`. Case does not matter.
 *
 * @param host of a URL as WHATWG parses it: lower case, IPv6 in brackets, IPv4 in dotted decimal
 */
export function bypassesProxy(host: string, port: number, noProxy: string): boolean {
  return noProxy.split(/[\s,]+/).some((entry) => entry !== "" && matches(entry, host, port));
}

function matches(entry: string, host: string, port: number): boolean {
  if (entry === "*") return true;
  const { name, entryPort } = splitPort(entry.toLowerCase());
  if (entryPort !== null && entryPort !== port) return false;
  const address = addressBits(withoutBrackets(host));
  if (address !== null) return covers(name, address);
  const domain = name.replace(/^\*?\./, "").replace(/\.$/, "");
  const plain = host.replace(/\.$/, "");
  return domain !== "" && (plain === domain || plain.endsWith(`.${domain}`));
}

/** `name:443` and `[::1]:443` carry a port, a bare IPv6 address or range does not. */
function splitPort(entry: string): { name: string; entryPort: number | null } {
  const found = /^(\[[^\]]*\]|[^:]*):([0-9]{1,5})$/.exec(entry);
  if (found === null) return { name: withoutBrackets(entry), entryPort: null };
  return { name: withoutBrackets(found[1] ?? ""), entryPort: Number(found[2]) };
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]/, "$1");
}

function covers(range: string, address: string): boolean {
  const [base = "", length, ...rest] = range.split("/");
  const bits = addressBits(base);
  if (bits === null || bits.length !== address.length || rest.length > 0) return false;
  if (length === undefined) return bits === address;
  const prefix = /^[0-9]{1,3}$/.test(length) ? Number(length) : NaN;
  return prefix <= bits.length && bits.slice(0, prefix) === address.slice(0, prefix);
}

/** An address as a string of 32 or 128 binary digits; null for what is no address. */
function addressBits(text: string): string | null {
  const isV4 = /^[0-9]{1,3}(\.[0-9]{1,3}){3}$/.test(text);
  const url = isV4 ? `http://${text}/` : `http://[${text}]/`;
  if (!isV4 && !text.includes(":") || !URL.canParse(url)) return null;
  const host = withoutBrackets(new URL(url).hostname);
  return isV4
    ? host.split(".").map((part) => Number(part).toString(2).padStart(8, "0")).join("")
    : v6Groups(host).map((group) => parseInt(group, 16).toString(2).padStart(16, "0")).join("");
}

/** The eight groups of an IPv6 address in the form that WHATWG URLs have it: hex, at most one `::`. */
function v6Groups(address: string): string[] {
  const [head = "", tail] = address.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  return [...before, ...Array(8 - before.length - after.length).fill("0"), ...after];
}
