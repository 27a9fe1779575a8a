/** Asks for what the test files of a run share. */

import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import type { Shared } from './makers.ts';
import type { Answer } from './setup.ts';

export async function shared<Name extends keyof Shared>(name: Name): Promise<Shared[Name]> {
  const connection = connect({ path: inject('shared'), allowHalfOpen: true });
  connection.end(name);
  const answer = JSON.parse(await text(connection)) as Answer;
  if ('error' in answer) throw new Error(answer.error);
  return answer.value as Shared[Name];
}
