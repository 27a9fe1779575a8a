/** A search box, and the same filters as fields. Both are part of the address, so a search can be shared. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { moment } from '../data/format.ts';
import { serverNow } from '../data/live.ts';
import { linkTo, replaceWith } from '../data/route.ts';
import { type Filter, readSearch, type SearchField, writeSearch } from '../data/search.ts';

interface SearchProps {
  readonly label: string;
  readonly hint: string;
  readonly fields: readonly SearchField[];
  /** The member for a word without a colon. */
  readonly alone: string;
  readonly filter: Filter;
  /** The path of the page. */
  readonly path: string;
}

const typingMs = 250;

export function SearchBox({ label, hint, fields, alone, filter, path }: SearchProps) {
  const written = writeSearch(filter, fields, alone);
  const [text, setText] = useState(written);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [open, setOpen] = useState(false);
  const timer = useRef(0);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Keep typed text unchanged; otherwise an open quote would be closed.
    if (document.activeElement !== field.current) setText(written);
  }, [written]);

  const onFilter = (next: Filter): void => replaceWith(linkTo([path], next));
  function search(next: string): void {
    const found = readSearch(next, fields, alone, serverNow());
    setProblems(found.problems);
    onFilter(found.filter);
  }
  function type(next: string): void {
    setText(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => search(next), typingMs);
  }
  useEffect(() => () => clearTimeout(timer.current), []);

  return (
    <search class="search">
      <div class="search-line">
        <input
          ref={field}
          type="search"
          aria-label={label}
          placeholder={hint}
          value={text}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => type(currentTarget.value)}
          onKeyDown={({ key, currentTarget }) => {
            if (key !== 'Enter') return;
            clearTimeout(timer.current);
            search(text);
            currentTarget.blur();
          }}
        />
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          Filters
        </button>
        {written !== '' && (
          <button
            type="button"
            onClick={() => {
              setText('');
              search('');
            }}
          >
            Clear
          </button>
        )}
      </div>
      <p class="search-problems" aria-live="polite">
        {problems.join(' ')}
      </p>
      {open && <FilterFields fields={fields} filter={filter} onFilter={onFilter} />}
    </search>
  );
}

interface FieldsProps extends Pick<SearchProps, 'fields' | 'filter'> {
  readonly onFilter: (filter: Filter) => void;
}

function FilterFields({ fields, filter, onFilter }: FieldsProps) {
  function set(member: string, value: string): void {
    const { [member]: _, ...rest } = filter;
    onFilter(value === '' ? rest : { ...rest, [member]: value });
  }
  return (
    <div class="filter-fields">
      {fields.map((field) => (
        // biome-ignore lint/a11y/noLabelWithoutControl: the field is inside
        <label key={field.member}>
          <span>{field.label}</span>
          <FilterField
            field={field}
            value={filter[field.member] ?? ''}
            onValue={(value) => set(field.member, value)}
          />
        </label>
      ))}
    </div>
  );
}

function FilterField({
  field,
  value,
  onValue,
}: {
  field: SearchField;
  value: string;
  onValue: (value: string) => void;
}) {
  if (field.choices) {
    const known = value === '' || field.choices.includes(value) ? field.choices : [...field.choices, value];
    return (
      <select value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
        <option value="">any</option>
        {known.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    );
  }
  if (field.isMoment) {
    return (
      <input
        type="datetime-local"
        value={value === '' ? '' : moment(Number(value)).replace(' ', 'T')}
        step={1}
        onChange={({ currentTarget }) => {
          const at = Date.parse(currentTarget.value);
          onValue(Number.isNaN(at) ? '' : String(at));
        }}
      />
    );
  }
  return (
    <input
      type="text"
      value={value}
      dir="auto"
      onChange={({ currentTarget }) => onValue(currentTarget.value)}
    />
  );
}
