/** The last lines that a handler has logged, added to the report of its attempt. */

import { masked } from '../../base/mask.ts';
import type { LogLine } from '../../contract/outcome.ts';
import type { EndStep } from '../../kernel/attempt/attempt.ts';
import type { Logged } from '../../kernel/attempt/run.ts';
import type { Feature } from '../feature.ts';

const logged: EndStep = {
  for: ({ run }) => run.lines !== null,
  settle: ({ run }, end, next) => next({ ...end, report: { ...end.report, log: linesOf(run.lines!) } }),
};

export const logs = { end: { log: logged } } satisfies Feature;

/** Longer lines lose their end. */
const mostChars = 500;
/** The most members of arrays and objects that are read: each takes two characters or more. */
const mostMembers = mostChars / 2;

const linesOf = (lines: readonly Logged[]): LogLine[] =>
  lines.map((line) => ({ at: line.at, text: textOf(line) }));

/** Never throws: anything can be logged. */
function textOf({ message, fields }: Logged): string {
  try {
    const text = cut(String(message));
    const json = fields === undefined ? '{}' : jsonOf(fields);
    return json === '{}' ? text : cut(`${text} ${json}`);
  } catch {
    return '[unreadable]';
  }
}

const jsonOf = (fields: object): string =>
  JSON.stringify(masked(clipped(fields, 6, { members: mostMembers })));

/** The part that can fit into a line, so that logging a whole file stays cheap. */
function clipped(value: unknown, levels: number, left: { members: number }): unknown {
  if (typeof value === 'string') return cut(value);
  if (typeof value !== 'object' || value === null || levels === 0) return value;
  if (value instanceof Error || ArrayBuffer.isView(value) || 'toJSON' in value) return value;
  const within = (member: unknown) => clipped(member, levels - 1, left);
  const some = <T>(members: readonly T[]): readonly T[] => {
    const kept = members.slice(0, left.members);
    left.members -= kept.length;
    return kept;
  };
  if (Array.isArray(value)) return some(value).map(within);
  const names = some(Object.keys(value)) as readonly (keyof typeof value)[];
  const memberOf = (name: keyof typeof value): unknown => {
    try {
      return within(value[name]);
    } catch {
      return '[unreadable]'; // a getter has thrown
    }
  };
  return Object.fromEntries(names.map((name) => [name, memberOf(name)]));
}

const cut = (text: string): string => (text.length > mostChars ? `${text.slice(0, mostChars - 1)}…` : text);
