/** Steps and events of a handler in an isolate: the worker keeps the results and says when a step runs, and the step's code runs in the isolate. */

import { config, LongshoreError, PermanentError } from '../../base/errors.ts';
import { assertJson } from '../../base/json.ts';
import type { EmitOptions, StepContext, StepOptions } from '../../kernel/app/durable.ts';
import type { IsolatedMember } from '../../kernel/attempt/context.ts';
import { checkStep, resultText } from './check.ts';

/** Characters of the result of one step, as JSON. */
const mostChars = 262_144;

export const isolatedStep: IsolatedMember = {
  send({ job, signal }, name: string, work: unknown, options: StepOptions = {}) {
    checkStep(work, options);
    if (options.transaction)
      throw config(
        `Job "${job}" runs in an isolate, so its steps have no transactions: a transaction cannot leave its process.`,
      );
    return {
      args: [name],
      async work(idempotencyKey) {
        const text = resultText(name, await work({ idempotencyKey, signal }));
        if (text !== null && text.length > mostChars)
          throw new PermanentError(
            `Expected the result of step ${JSON.stringify(name)} to have at most ${mostChars} characters as JSON, got ${text.length}. Return an id from a step and keep the data elsewhere.`,
          );
        return text;
      },
    };
  },
  receive: ({ work }, name: string) => [
    name,
    async ({ idempotencyKey }: StepContext) => resultOf(await work(idempotencyKey)),
  ],
};

function resultOf(text: unknown): unknown {
  if (text === null) return undefined;
  if (typeof text === 'string' && text.length <= mostChars) return JSON.parse(text);
  throw new LongshoreError(
    'OPTION',
    `Expected the result of a step as JSON, at most ${mostChars} characters.`,
  );
}

export const isolatedEmit: IsolatedMember = {
  send(_, event: string, payload?: unknown, options?: EmitOptions) {
    if (payload !== undefined) assertJson(payload, 'payload'); // before a clone makes class instances plain objects
    return { args: [event, payload, options] };
  },
};
