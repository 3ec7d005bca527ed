import type { StubHost } from "./stub_host.ts";

/**
 * A bootctl of shell script, which keeps EFI variables as the kernel shows them and speaks as systemd 252
 * or 257 does. Files beside it change what it does: `version`, `break` (`failed`, `not_set`, once) and
 * `ways` (`entry`, `fallback`).
 */
const STUB_BOOTCTL = String.raw`
here=$(dirname "$0")
root=$here/../..
vars=$root/sys/firmware/efi/efivars
guid=4a67b082-0a4c-41cf-b6c7-440b29bb8c4f
version=$(cat "$here/version")
how=$(cat "$here/break" 2> /dev/null)
set_variable() {
  rm -f "$here/break"
  [ "$how" = failed ] && { echo "Failed to update EFI variable '$1': Input/output error" >&2; exit 1; }
  [ "$how" = not_set ] && exit 0
  if [ -z "$2" ]; then rm -f "$vars/$1-$guid"; exit 0; fi
  { printf '\007\000\000\000'; printf %s "$2" | sed 's/./&\x00/g'; printf '\000\000'; } > "$vars/$1-$guid"
}
entry() {
  printf '{"type":"type2","id":"%s","path":"/boot//EFI/Linux/%s","root":"/boot","title":"Node","linux":"/EFI/Linux/%s"' "$2" "$1" "$1"
  [ "$version" = 257 ] && printf ',"isReported":true,"isDefault":false,"isSelected":false'
  printf '}'
}
entries() {
  for path in "$root"/boot/EFI/Linux/*.efi; do
    name=$(basename "$path")
    entry "$name" "$(echo "$name" | tr A-Z a-z)"
    printf '\n'
  done
  echo '{"type":"loader","id":"auto-reboot-to-firmware-setup","path":"/sys/firmware/efi/efivars/LoaderEntries","title":"Reboot Into Firmware Interface"}'
}
case $1 in
  -p) echo /boot ;;
  set-oneshot) set_variable LoaderEntryOneShot "$2" ;;
  set-default) set_variable LoaderEntryDefault "$2" ;;
  list)
    if [ "$version" = 252 ]; then entries; else printf '['; entries | paste -s -d, -; printf ']'; fi ;;
  status)
    cat "$here/status-head"
    cat "$here/status-loaders"
    cat "$here/status-entries"
    echo 'Boot Loader Entries:'
    echo '        $BOOT: /boot (/dev/disk/by-partuuid/0-0)'
    # Part of it could not be told, which it says at the end.
    exit 1 ;;
  *) echo "Unknown command verb $1." >&2; exit 1 ;;
esac
`;

/** What `bootctl status` prints, as 252 and 257 were seen to print it. */
export function statusParts(
  version: 252 | 257,
  ways: { readonly firmwareEntry: boolean; readonly fallbackLoader: boolean },
): Readonly<Record<"status-head" | "status-loaders" | "status-entries", string>> {
  const slash = version === 252 ? "" : "/boot/";
  const main = `├─${slash}/EFI/systemd/systemd-bootx64.efi (${product(version)})`;
  const fallback = `${slash}/EFI/BOOT/BOOTX64.EFI`;
  return {
    "status-head": `System:
      Firmware: UEFI 2.70 (EDK II 1.00)
 Firmware Arch: x64
   Secure Boot: disabled (setup)
  TPM2 Support: no
  Boot into FW: supported

Current Boot Loader:
      Product: ${product(version)}
     Features: ✓ Boot counting
               ✓ One-shot entry control
         File: └─/EFI/systemd/systemd-bootx64.efi

Random Seed:
 System Token: set
       Exists: yes

`,
    "status-loaders": `Available Boot Loaders on ESP:
          ESP: /boot (/dev/disk/by-partuuid/0-0)
         File: ${main}
               └─${ways.fallbackLoader ? `${fallback} (${product(version)})` : fallback}

`,
    "status-entries": ways.firmwareEntry
      ? `Boot Loaders Listed in EFI Variables:
        Title: UEFI PXEv4
           ID: 0x0001
       Status: active, boot-order
    Partition: /dev/disk/by-partuuid/1-1
         File: └─/EFI/other/shimx64.efi

        Title: Linux Boot Manager
           ID: 0x0005
       Status: active, boot-order
    Partition: /dev/disk/by-partuuid/0-0
         File: └─${slash}/EFI/systemd/systemd-bootx64.efi

`
      : `Boot Loaders Listed in EFI Variables:
        Title: Linux Boot Manager
           ID: 0x0005
       Status: inactive
    Partition: /dev/disk/by-partuuid/0-0
         File: └─${slash}/EFI/systemd/systemd-bootx64.efi

`,
  };
}

function product(version: 252 | 257): string {
  return version === 252 ? "systemd-boot 252.39-1~deb12u2" : "systemd-boot 257.9-1~deb13u1";
}

/** Puts that bootctl on a host, as one that booted by systemd-boot. */
export async function installBootctl(
  host: Pick<StubHost, "program" | "write">,
  version: 252 | 257,
): Promise<void> {
  await host.program("/usr/bin/bootctl", STUB_BOOTCTL);
  await host.write("/usr/bin/version", String(version));
  const parts = statusParts(version, { firmwareEntry: true, fallbackLoader: true });
  for (const [name, text] of Object.entries(parts)) await host.write(`/usr/bin/${name}`, text);
  await host.write("/boot/EFI/BOOT/BOOTX64.EFI", product(version));
  for (
    const [name, text] of [
      ["LoaderInfo", `systemd-boot ${version}`],
      ["LoaderImageIdentifier", "\\EFI\\SYSTEMD\\SYSTEMD-BOOTX64.EFI"],
    ] as const
  ) await host.write(variablePath(name), efiText(text));
}

/** Where the kernel shows a variable of the boot loader. */
export function variablePath(name: string): string {
  return `/sys/firmware/efi/efivars/${name}-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f`;
}

/** A variable as the kernel shows it. */
export function efiText(text: string, end = "\0"): Uint8Array {
  const units = Uint16Array.from(text + end, (unit) => unit.charCodeAt(0));
  return new Uint8Array([6, 0, 0, 0, ...new Uint8Array(units.buffer)]);
}
