/** Addresses and names as Kubernetes and k3s take them: one spelling each, nothing that a parser guesses. */

const OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);
const NAME_PART = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const DNS_NAME = new RegExp(`^(?:\\*\\.)?${NAME_PART}(?:\\.${NAME_PART})*$`);

/** Whether `text` is an IPv4 address in dotted decimal, or an IPv6 address without zone. */
export function isIp(text: string): boolean {
  return canonicalIp(text) !== null;
}

/** The one spelling of an IP address; null where `text` is none. */
export function canonicalIp(text: string): string | null {
  if (IPV4.test(text)) return text;
  if (!text.includes(":") || !/^[0-9A-Fa-f:.]+$/.test(text)) return null;
  const url = `http://[${text}]/`;
  return URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : null;
}

/** Whether `text` is a range of IP addresses, `address/bits`. */
export function isCidr(text: string): boolean {
  const [, address = "", bits = ""] = /^(.+)\/([0-9]{1,3})$/.exec(text) ?? [];
  if (!isIp(address) || bits !== String(Number(bits))) return false;
  return Number(bits) <= (IPV4.test(address) ? 32 : 128);
}

/** Whether `text` is a DNS name of up to 253 characters; its first label may be `*`. */
export function isDnsName(text: string): boolean {
  return text.length <= 253 && DNS_NAME.test(text) && !/^[0-9.]+$/.test(text);
}
