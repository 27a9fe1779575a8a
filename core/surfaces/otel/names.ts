/** The names of the semantic conventions for messaging, version 1.45. Their status is "development": they may change. */

import type { Attributes } from '@opentelemetry/api';
import { LongshoreError } from '../../base/errors.ts';

export interface Operation {
  /** The name of its spans. */
  readonly name: string;
  /** Attributes of its spans and metrics: few different values. */
  readonly attributes: Attributes;
}

/** `null` where one call is for several queues or jobs. */
export function operationOf(type: 'send' | 'process', queue: string | null, job: string | null): Operation {
  return {
    name: queue === null ? type : `${type} ${queue}`,
    attributes: {
      'messaging.system.name': 'longshore',
      'messaging.system': 'longshore', // its name before 1.45, which tools still look for
      'messaging.operation.name': type,
      'messaging.operation.type': type,
      ...(queue !== null && { 'messaging.destination.name': queue }),
      ...(job !== null && { 'messaging.longshore.job': job }),
    },
  };
}

/** Our own code, or the name of the class. A name may be anything, also what throws: one that is no name is not repeated. */
export function errorType(error: unknown): string {
  if (error instanceof LongshoreError) return error.code;
  try {
    const name: unknown = error instanceof Error ? error.name : null;
    if (typeof name === 'string' && /^[A-Za-z_$][\w$.]{0,63}$/.test(name)) return name;
  } catch {
    // As one without a name.
  }
  return '_OTHER';
}
