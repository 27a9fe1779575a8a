/** Who types: the audit log says it. */

import { hostname, userInfo } from 'node:os';
import type { OperatorIdentity } from '../../../core/operations/types.ts';

const longest = 256;

export function actorOf(env: Readonly<Record<string, string | undefined>>): OperatorIdentity {
  const actor = env.LONGSHORE_ACTOR?.trim() || userName();
  return { actor: actor.slice(0, longest), from: `cli ${hostname()}`.slice(0, longest) };
}

/** A user of a container may have a number and no name. */
function userName(): string {
  try {
    return userInfo().username || uid();
  } catch {
    return uid();
  }
}

const uid = (): string => `uid ${process.getuid?.() ?? 'unknown'}`;
