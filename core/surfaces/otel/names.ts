/** Names from the semantic conventions for messaging, version 1.45. The conventions are in development and may change. */

import type { Attributes } from '@opentelemetry/api';
import { LongshoreError } from '../../base/errors.ts';

export interface Operation {
  /** Name of the spans. */
  readonly name: string;
  /** Attributes of the spans and metrics. They have few different values. */
  readonly attributes: Attributes;
}

/** @param queue `null` = several queues @param job `null` = several jobs */
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

/** The code of a `LongshoreError`, otherwise the class name. A name that is malformed, or whose getter throws, is left out. */
export function errorType(error: unknown): string {
  if (error instanceof LongshoreError) return error.code;
  try {
    const name: unknown = error instanceof Error ? error.name : null;
    if (typeof name === 'string' && /^[A-Za-z_$][\w$.]{0,63}$/.test(name)) return name;
  } catch {
    // The getter threw: treated as an error without a name.
  }
  return '_OTHER';
}
