/** Payloads of jobs and of dead letters. One that is large is sent only when it is asked for. */

import type { StoredPayload } from '../../../contract/store.ts';
import type { Unavailable } from '../api.ts';
import { unavailable } from './find.ts';
import { oneOf } from './query.ts';

const mostCharacters = 262_144;

export const wholeQuery = { whole: oneOf(['true', 'false']) };

export interface Whole {
  readonly whole?: 'true' | 'false';
}

export function sentPayload(payload: StoredPayload, { whole }: Whole): StoredPayload | Unavailable {
  const characters = JSON.stringify(payload.value ?? null).length;
  if (whole === 'true' || characters <= mostCharacters) return payload;
  return { ...unavailable(`The payload has ${characters} characters. Load it whole to see it.`), characters };
}
