/** Whether a URL's host is loopback: 127.0.0.0/8, ::1 or localhost (protocol §1). */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" ||
    /^127(?:\.[0-9]{1,3}){3}$/.test(hostname);
}
