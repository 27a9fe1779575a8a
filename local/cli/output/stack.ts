/** Prints stack traces: only the user's own frames, with the first one marked. */

import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { causedBy } from '../../../core/base/failure.ts';
import { plain, type Ui } from './ui.ts';

/** Most frames of an error, and of each of its causes. */
const mostFrames = 8;

/** The folder of Longshore's repository; `null` = it is installed, in a folder `node_modules`. */
const repository = import.meta.filename.endsWith('.ts') ? resolve(import.meta.dirname, '../../..') : null;
const isOwn = (path: string): boolean =>
  repository !== null && /^(core|functions|local)[/\\]/.test(relative(repository, path));

interface Frame {
  /** The function, like `sendInvoice`; empty if it has no name. */
  readonly caller: string;
  readonly path: string;
  /** `12:9` */
  readonly at: string;
}

/**
 * Formats a stack of `AttemptError.stack`, without the error's own message. Leaves out frames of packages, Node and Longshore; an error
 * with no other frames keeps its first one. Empty if there are no frames.
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

/** The first frame of the user's own code; `null` = there is none. */
export const firstUsersFrame = (stack: string): Frame | null =>
  stack
    .split('\n')
    .flatMap((line) => frameOf(line) ?? [])
    .find(isUsers) ?? null;

/** The text before the frames, as one line. */
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
