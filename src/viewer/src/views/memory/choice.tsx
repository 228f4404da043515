// One of a few devices, or of many: buttons beside each other while there is room for them, else a list.
// In: names, the one that is chosen. Out: `DeviceChoice`. Left to neighbours: what is chosen by it.

import { printable, short } from "../../ui/text";

interface Props {
  label: string;
  devices: string[];
  chosen: string | null;
  onChoose: (device: string | null) => void;
  /** What no device in particular is called; without it there is always one. */
  all?: string;
}

const BUTTONS = 4;

export function DeviceChoice({ label, devices, chosen, onChoose, all }: Props) {
  const options: (string | null)[] = all === undefined ? devices : [null, ...devices];
  const text = (d: string | null) => (d === null ? (all ?? "") : short(d, 24));
  if (devices.length > BUTTONS) {
    return (
      <select aria-label={label} value={chosen ?? ""} onChange={(e) => onChoose(e.currentTarget.value || null)}>
        {options.map((d) => (
          <option key={d ?? ""} value={d ?? ""}>
            {text(d)}
          </option>
        ))}
      </select>
    );
  }
  return (
    <div class="segmented" role="group" aria-label={label}>
      {options.map((d) => (
        <button key={d ?? ""} type="button" aria-pressed={chosen === d} onClick={() => onChoose(d)} title={d === null ? undefined : printable(d)}>
          {text(d)}
        </button>
      ))}
    </div>
  );
}
