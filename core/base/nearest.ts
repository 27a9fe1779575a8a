/** The name that was most likely meant; `null` = none is close. */
export function nearest(given: string, names: Iterable<string>): string | null {
  const mostSteps = Math.max(1, Math.floor(given.length / 3));
  const close = [...names]
    .map((name) => ({ name, steps: stepsTo(name, given.toLowerCase()) }))
    .filter(({ steps }) => steps <= mostSteps)
    .sort((a, b) => a.steps - b.steps);
  return close[0]?.name ?? null;
}

/** ` Did you mean "mail"?`, or an empty text when no name is close. For messages that list all names. */
export function didYouMean(given: unknown, names: Iterable<string>): string {
  const near = typeof given === 'string' ? nearest(given, names) : null;
  return near === null ? '' : ` Did you mean "${near}"?`;
}

/** ` Did you mean "mail"?` or, when nothing is close, ` Known: a, b, c.` */
export function hint(given: string, names: Iterable<string>): string {
  const known = [...names];
  const near = didYouMean(given, known);
  if (near !== '') return near;
  if (known.length === 0) return '';
  return ` Known: ${known.slice(0, 10).join(', ')}${known.length > 10 ? ', ...' : ''}.`;
}

/** The distance to the name, to its beginning, or to one of its words: `nigthly` finds `nightly-report`. Whole names win. */
function stepsTo(name: string, given: string): number {
  const parts = given.length < 4 ? [] : [name.slice(0, given.length), ...name.split(/[._-]|(?=[A-Z])/)];
  const stepsOf = (part: string) => distance(given, part.toLowerCase());
  return Math.min(stepsOf(name), ...parts.map((part) => stepsOf(part) + 0.5));
}

/** Edit distance: insertions, deletions, replacements and swaps of neighbours. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let steps = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) steps = Math.min(steps, rows[i - 2]![j - 2]! + 1);
      row.push(steps);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
