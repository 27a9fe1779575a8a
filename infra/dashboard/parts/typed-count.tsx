/** Confirms a change of many by typing their number, which prevents accidental clicks. */

import { count } from '../data/format.ts';

const mostUntyped = 100;

export const isSure = (many: number, typed: string): boolean =>
  many <= mostUntyped || typed.replace(/\D/g, '') === String(many);

interface TypedCountProps {
  readonly count: number;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

export function TypedCount({ count: many, value, onValue }: TypedCountProps) {
  if (many <= mostUntyped) return null;
  return (
    <label class="typed-count">
      <span>Type {count(many)} to confirm</span>
      <input
        inputMode="numeric"
        autocomplete="off"
        value={value}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    </label>
  );
}
