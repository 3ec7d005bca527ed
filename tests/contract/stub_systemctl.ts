/**
 * A systemctl of shell script: keeps the state of units in `units/<name>` beside it and what is enabled
 * in `enabled/<name>`, and speaks with the words and exit codes of systemd 252. Every call is a line in
 * `calls`.
 */
export const STUB_SYSTEMCTL = String.raw`
here=$(dirname "$0")
echo "$*" >> "$here/calls"
verb=$1
unit=$2
state="$here/units/$unit"
case $verb in
  daemon-reload) exit 0 ;;
  is-active)
    word=inactive
    [ -f "$state" ] && word=$(cat "$state")
    echo "$word"
    [ "$word" = active ] || exit 3 ;;
  start|restart)
    if [ ! -f "$state" ]; then
      echo "Failed to $verb $unit: Unit $unit not found." >&2
      exit 5
    fi
    echo active > "$state" ;;
  stop)
    if [ ! -f "$state" ]; then
      echo "Failed to stop $unit: Unit $unit not loaded." >&2
      exit 5
    fi
    echo inactive > "$state" ;;
  enable|disable)
    if [ ! -f "$state" ]; then
      echo "Failed to $verb unit: Unit file $unit does not exist." >&2
      exit 1
    fi
    if [ "$verb" = enable ]; then : > "$here/enabled/$unit"; else rm -f "$here/enabled/$unit"; fi ;;
  *) exit 2 ;;
esac
`;

/** A journalctl of shell script: the log of a unit is the file `logs/<unit>` beside it. */
export const STUB_JOURNALCTL = String.raw`
here=$(dirname "$0")
for word in "$@"; do
  case $word in
    --unit=*) unit=$(echo "$word" | cut -d= -f2) ;;
    --lines=*) lines=$(echo "$word" | cut -d= -f2) ;;
  esac
done
[ -f "$here/logs/$unit" ] || exit 0
tail -n "$lines" "$here/logs/$unit"
`;
