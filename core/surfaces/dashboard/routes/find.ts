/** Names in a path, and what there is under them. */

import { shown } from '../../../base/errors.ts';
import { hint } from '../../../base/nearest.ts';
import { Refusal } from '../../http/problem.ts';
import type { Unavailable } from '../api.ts';

/** `name`, which is one of `known`. Throws 404 with the nearest one. */
export function knownName(what: string, name: string, known: readonly string[]): string {
  if (known.includes(name)) return name;
  throw new Refusal(404, 'NOT_FOUND', `There is no ${what} ${shown(name)} here.${hint(name, known)}`);
}

export const missing = (what: string, id: string): Refusal =>
  new Refusal(404, 'NOT_FOUND', `There is no ${what} ${shown(id)} here any more, or there never was.`);

export const unavailable = (why: string): Unavailable => ({ unavailable: why });

export const noLimits = (backend: string): Unavailable =>
  unavailable(
    `Backend "${backend}" keeps no limits: give the dashboard and the workers a store, for example sqliteStore().`,
  );

export const noAdmin = (backend: string): Unavailable =>
  unavailable(
    `Backend "${backend}" offers no administration: look at its queues with the broker's own tools.`,
  );
