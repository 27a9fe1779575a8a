/** A search by the beginning of a name. The search is part of the address, so it can be shared. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { replaceWith } from '../data/route.ts';

const typingMs = 250;

interface PrefixBoxProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly linkOf: (value: string) => string;
}

export function PrefixBox({ label, hint, value, linkOf }: PrefixBoxProps) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <search class="search">
      <div class="search-line">
        <input
          type="search"
          aria-label={label}
          placeholder={hint}
          value={text}
          spellcheck={false}
          autocomplete="off"
          dir="auto"
          onInput={({ currentTarget: { value } }) => {
            setText(value);
            clearTimeout(timer.current);
            timer.current = window.setTimeout(() => replaceWith(linkOf(value)), typingMs);
          }}
        />
      </div>
    </search>
  );
}
