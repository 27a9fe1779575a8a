/** A stack trace for people: the frames of their own code, and the first of them marked. */

import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { causedBy } from '../../../core/base/failure.ts';
import { plain, type Ui } from './ui.ts';

/** Of the error, and of each of its causes. */
const mostFrames = 8;

/** Longshore itself: where it was installed, and the same files when they are run from its repository. */
const ownRooms = fileURLToPath(new URL('../../../', import.meta.url));
const isOwn = (path: string): boolean =>
  path.startsWith(ownRooms) && /^(core|functions|local)[/\\]/.test(path.slice(ownRooms.length));

interface Frame {
  /** `sendInvoice`; empty for what has no name. */
  readonly caller: string;
  readonly path: string;
  /** `12:9` */
  readonly at: string;
}

/**
 * The stack as `AttemptError.stack` keeps it; empty when it has nothing to say. Frames of packages, of Node and of Longshore are
 * left out, except the first one of an error that has no others. The error's own message stands above it already.
 */
export function stackLines(stack: string, { paint }: Pick<Ui, 'paint'>, cwd: string): string {
  const [own = '', ...causes] = stack.split(causedBy);
  const lines: string[] = [];
  const kind = /^[\w$.]{1,80}/.exec(own)?.[0] ?? '';
  if (/Error$/.test(kind) && !['Error', 'LongshoreError'].includes(kind)) lines.push(`  ${kind}`);
  let isMarked = false;
  for (const [i, part] of [own, ...causes].entries()) {
    if (i > 0) lines.push(`  caused by ${headOf(part)}`);
    const all = part.split('\n').flatMap((line) => frameOf(line) ?? []);
    const users = all.filter(isUsers);
    const chosen = users.length > 0 || part.startsWith('LongshoreError') ? users : all.slice(0, 1);
    for (const frame of chosen.slice(0, mostFrames)) {
      const text = `at ${textOf(frame, cwd)}`;
      const isFirst: boolean = !isMarked && users.length > 0;
      isMarked ||= isFirst;
      lines.push(isFirst ? paint('bold', `→ ${text}`) : paint('dim', `  ${text}`));
    }
    const more = chosen.length - mostFrames;
    if (more > 0) lines.push(paint('dim', `  … ${more} more`));
  }
  return lines.map((line) => `    ${line}`).join('\n');
}

/** Where the user's own code was when it threw; `null` = it was not on the stack. */
export const firstUsersFrame = (stack: string): Frame | null =>
  stack
    .split('\n')
    .flatMap((line) => frameOf(line) ?? [])
    .find(isUsers) ?? null;

/** What stands before the frames, as one line. */
const headOf = (part: string): string => plain(part.split('\n    at ', 1)[0]!).trim();

function frameOf(line: string): Frame | null {
  const [, caller = '', place = '', at = ''] = /^ {4}at (?:(.*) \()?(.*?):(\d+:\d+)\)?$/.exec(line) ?? [];
  if (place === '') return null;
  return {
    caller: caller.replace(/Object\.handle \[as run\]$/, 'handle'),
    path: pathOf(place),
    at,
  };
}

function pathOf(place: string): string {
  try {
    return place.startsWith('file:') ? fileURLToPath(place) : place;
  } catch {
    return place;
  }
}

const isUsers = ({ path }: Frame): boolean =>
  !/^node:|[/\\]node_modules[/\\]/.test(path) && isAbsolute(path) && !isOwn(path);

function textOf({ caller, path, at }: Frame, cwd: string): string {
  const near = isAbsolute(path) ? relative(cwd, path) : path;
  const shown = near.startsWith(`..${sep}..`) ? path : near;
  return plain(caller === '' ? `${shown}:${at}` : `${caller} (${shown}:${at})`);
}
