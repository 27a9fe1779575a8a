/** An optional number. */

interface NumberFieldProps {
  readonly label: string;
  /** The default, for people. */
  readonly hint: string;
  readonly min: number;
  readonly step?: number | 'any';
  /** The typed text. */
  readonly value: string;
  readonly disabled: boolean;
  readonly onValue: (value: string) => void;
}

export function NumberField(props: NumberFieldProps) {
  const { label, hint, min, step = 'any', value, disabled, onValue } = props;
  return (
    <label>
      <span>{label}</span>
      <input
        type="number"
        min={min}
        step={step}
        inputMode="decimal"
        placeholder={hint}
        value={value}
        disabled={disabled}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    </label>
  );
}

/** A new expiry, in hours: the member that the server accepts. */
export const expiry = { label: 'New expiry, hours from now', hint: 'as it is', min: 0.01 };
export const expiryIn = (hours: string): { readonly expiresInMs?: number } =>
  hours === '' ? {} : { expiresInMs: Math.round(Number(hours) * 3_600_000) };
