/** `ctx.step` and its kin in an isolate: the worker keeps the results and says when to run a step, and the step's code runs here. */

import { config, LongshoreError, PermanentError } from '../../base/errors.ts';
import { assertJson } from '../../base/json.ts';
import type { StepContext, StepOptions } from '../../kernel/app/durable.ts';
import type { HandlerContext } from '../../kernel/app/job.ts';
import { checkStep, resultText } from '../steps/check.ts';
import { type FromIsolate, mostStepChars, packError, type Question } from './messages.ts';

type Durable = Pick<HandlerContext, 'step' | 'sleep' | 'waitFor' | 'waitForBatch' | 'emit'>;

export interface StepsInside {
  /** The members of the context. */
  readonly ctx: Durable;
  /** Runs this step for the worker. */
  perform(ask: number, idempotencyKey: string): void;
}

interface Waiting {
  readonly name: string;
  readonly work: (step: StepContext) => unknown;
  /** The error that the step threw: the handler catches this very object, not a copy. */
  thrown?: { readonly error: unknown };
}

export function createStepsInside(
  job: string,
  signal: AbortSignal,
  hasEnded: () => boolean,
  send: (message: FromIsolate) => void,
  ask: (question: Question, started?: (number: number) => void) => Promise<unknown>,
): StepsInside {
  const steps = new Map<number, Waiting>();

  const asked = async (question: Question, started?: (number: number) => void): Promise<unknown> => {
    if (hasEnded())
      throw new LongshoreError(
        'LEASE_LOST',
        'A step, sleep, wait or emit was called after the attempt had ended.',
      );
    return ask(question, started);
  };

  async function step(name: string, work: unknown, options: StepOptions = {}): Promise<unknown> {
    checkStep(work, options);
    if (options.transaction)
      throw config(
        `Job "${job}" runs in an isolate, so its steps have no transactions: a transaction cannot leave its process.`,
      );
    const waiting: Waiting = { name, work: work as Waiting['work'] };
    let number = 0;
    try {
      return await asked({ verb: 'step', name }, (given) => {
        number = given;
        steps.set(number, waiting);
      });
    } catch (error) {
      throw waiting.thrown ? waiting.thrown.error : error;
    } finally {
      steps.delete(number);
    }
  }

  async function perform(ask: number, idempotencyKey: string): Promise<void> {
    const waiting = steps.get(ask);
    if (!waiting || hasEnded()) return;
    try {
      const text = resultText(waiting.name, await waiting.work({ idempotencyKey, signal }));
      if (text !== null && text.length > mostStepChars)
        throw new PermanentError(
          `Expected the result of step ${JSON.stringify(waiting.name)} to have at most ${mostStepChars} characters as JSON, got ${text.length}. Return an id from a step and keep the data elsewhere.`,
        );
      if (!hasEnded()) send({ type: 'did', ask, text });
    } catch (error) {
      waiting.thrown = { error };
      if (!hasEnded()) send({ type: 'undone', ask, error: packError(error) });
    }
  }

  return {
    perform: (ask, idempotencyKey) => void perform(ask, idempotencyKey),
    ctx: {
      step: step as Durable['step'],
      sleep: async (time) => void (await asked({ verb: 'sleep', time })),
      waitFor: async (event, options) => (await asked({ verb: 'waitFor', event, options })) as never,
      async waitForBatch(batch, options) {
        const id = typeof batch === 'object' && batch !== null ? { id: batch.id } : batch;
        return (await asked({ verb: 'waitForBatch', batch: id, options })) as never;
      },
      async emit(event, payload, options) {
        if (payload !== undefined) assertJson(payload, 'payload'); // before a clone makes class instances plain objects
        return (await asked({ verb: 'emit', event, payload, options })) as number;
      },
    },
  };
}
