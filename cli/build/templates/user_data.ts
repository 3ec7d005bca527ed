/** What stands where the portal, or whoever makes the server, puts a value in. */
export const PLACEHOLDERS = {
  portal: "@PORTAL@",
  clusterId: "@CLUSTER_ID@",
  nodeName: "@NODE_NAME@",
  enrollmentToken: "@ENROLLMENT_TOKEN@",
  downloadUrl: "@DOWNLOAD_URL@",
} as const;

/**
 * The cloud-init user-data that makes a fresh server an enrolled node. What the portal hands out goes to a
 * folder in memory first: cloud-init writes a file and only then narrows its mode, and a server made
 * from an image of another node must not lose that node's configuration. The script then puts it in its
 * place.
 *
 * `portalKeys` make every answer of the portal need a proof.
 *
 * User-data stays readable from the metadata service, so it holds nothing but the one-time token.
 */
export function userData(
  script: string,
  downloadUrl: string,
  portalKeys: readonly string[] = [],
): string {
  const staging = "/run/pbx-agent-install";
  const run = ["sh", `${staging}/install.sh`, "--config", `${staging}/config.yaml`];
  return `#cloud-config
# Put values in the place of the words between two @ signs. The token can be used once.
bootcmd:
  - [install, -d, -m, "0700", ${staging}]
write_files:
  - path: ${staging}/config.yaml
    owner: root:root
    permissions: "0600"
    content: |
      portal: "${PLACEHOLDERS.portal}"
      cluster_id: "${PLACEHOLDERS.clusterId}"
      node_name: "${PLACEHOLDERS.nodeName}"
      enrollment_token: "${PLACEHOLDERS.enrollmentToken}"
${
    portalKeys.length === 0
      ? ""
      : `      portal_keys: ${JSON.stringify(portalKeys)}\n`
  }  - path: ${staging}/install.sh
    owner: root:root
    permissions: "0700"
    content: |
${script.trimEnd().split("\n").map((line) => line === "" ? "" : `      ${line}`).join("\n")}
runcmd:
  - ${JSON.stringify([...run, "--url", downloadUrl])}
`;
}
