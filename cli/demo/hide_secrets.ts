const SECRET_KEYS = "enrollment_token|token|agent-token|signing|sealing";

/** A file's text for the screen: values of secret settings are shown by their first characters only. */
export function hideSecrets(text: string): string {
  const setting = new RegExp(`^(\\s*"?(?:${SECRET_KEYS})"?: "?)([^"\\s]{4})[^"\\s]*`, "gm");
  return text.replace(setting, "$1$2[...]");
}
