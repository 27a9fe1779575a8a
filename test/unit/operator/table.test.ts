/** The table of operations, beside the types that are written out for people. */

import { describe, expect, it } from 'vitest';
import type { Operation } from '../../../core/operations/operation.ts';
import { operations } from '../../../core/operations/table.ts';
import type { Operator, OperatorAction } from '../../../core/operations/types.ts';
import { routedOperations } from '../../../core/surfaces/http/operations.ts';
import { bodies } from '../../../core/surfaces/http/routes.ts';
import { operatorBench } from './kit.ts';

type Groups = Omit<Operator, 'identity' | 'audit'>;

/** Does not compile with a method too many or too few. */
const written: { readonly [Group in keyof Groups]: Readonly<Record<keyof Groups[Group], true>> } = {
  deadLetters: { page: true, groups: true, show: true, retry: true, edit: true, discard: true },
  jobs: {
    ...{
      list: true,
      get: true,
      result: true,
      cancel: true,
      runAgain: true,
      promote: true,
      update: true,
      remove: true,
    },
    ...{ pause: true, resume: true, closeBreaker: true, stopped: true },
  },
  limits: { list: true, reset: true },
  batches: { get: true, show: true, children: true, list: true, cancel: true, retryFailed: true },
  chains: { get: true, cancel: true },
  queues: { list: true, pause: true, resume: true, clear: true },
  schedules: {
    ...{
      inCode: true,
      get: true,
      list: true,
      run: true,
      upsert: true,
      remove: true,
      pause: true,
      resume: true,
    },
  },
  events: { emit: true },
  alerts: { list: true },
  workers: { list: true, drain: true },
};

const actions: Readonly<Record<OperatorAction, true>> = {
  ...{ 'dead.retry': true, 'dead.edit': true, 'dead.discard': true },
  ...{ 'job.cancel': true, 'job.run-again': true, 'job.promote': true, 'job.update': true },
  ...{ 'job.remove': true, 'job.pause': true, 'job.resume': true, 'job.close-breaker': true },
  ...{ 'limit.reset': true, 'batch.cancel': true, 'batch.retry': true, 'chain.cancel': true },
  ...{ 'queue.pause': true, 'queue.resume': true, 'queue.clear': true },
  ...{ 'schedule.run': true, 'schedule.pause': true, 'schedule.resume': true },
  ...{ 'schedule.upsert': true, 'schedule.remove': true, 'event.emit': true, 'worker.drain': true },
};

const all = Object.values(operations).flatMap((group): Operation[] => Object.values(group));

describe('the table of operations', () => {
  it('has the methods of an operator, and nothing else', () => {
    const { identity: _, audit: __, ...groups } = operatorBench().operator;
    const namesIn = (value: object) =>
      Object.fromEntries(
        Object.entries(value).map(([group, methods]) => [group, Object.keys(methods as object).toSorted()]),
      );
    expect(namesIn(groups)).toEqual(namesIn(written));
  });

  it('has each action of the audit log once', () => {
    const named = all.flatMap(({ action }) => action ?? []);
    expect(named.toSorted()).toEqual(Object.keys(actions).toSorted());
  });

  it('has each route once, and a reader for each body', () => {
    const routes = routedOperations.map(({ http }) => http.route);
    expect(new Set(routes).size).toBe(routes.length);
    const read = routedOperations.filter(({ http }) => http.body).map(({ http }) => http.operationId);
    expect(read.toSorted()).toEqual(Object.keys(bodies).toSorted());
  });

  it('says of each operation what it does, in one clause without a full stop', () => {
    for (const { summary } of all) expect(summary).toMatch(/^[A-Z][^.]*[^.]$/);
  });
});
