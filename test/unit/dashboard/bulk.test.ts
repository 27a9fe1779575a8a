/** Changes of many dead letters: what may be asked for, and how their progress is told until nobody reads it any more. */

import { describe, expect, it } from 'vitest';
import { LongshoreError } from '../../../core/index.ts';
import { ndjson, refusalFor } from '../../../core/surfaces/dashboard/answer/responses.ts';
import { until } from '../../kit/until.ts';
import { createBench, enter, expectWrongOption, pageHeaders } from './kit.ts';

type Work = Parameters<typeof ndjson>[1];
type OnProgress = Parameters<Work>[1];

/** Work that a test has in its hand. */
function held() {
  const end = Promise.withResolvers<object>();
  const seen: { signal?: AbortSignal; tell?: OnProgress } = {};
  const work: Work = (signal, tell) => {
    Object.assign(seen, { signal, tell });
    return end.promise;
  };
  return { work, end, seen };
}

const request = (signal?: AbortSignal) => new Request('http://localhost', { ...(signal && { signal }) });

describe('progress', () => {
  it('is a line for each report, and the result the last one', async () => {
    const { work, end, seen } = held();
    const response = ndjson(request(), work);
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    seen.tell!({ done: 1 });
    seen.tell!({ done: 2 });
    end.resolve({ done: 2, ended: 'all' });
    expect(await response.text()).toBe('{"done":1}\n{"done":2}\n{"done":2,"ended":"all"}\n');
  });

  it('ends with a problem where the work fails, without what only the log may have', async () => {
    const { work, end, seen } = held();
    const response = ndjson(request(), work);
    seen.tell!({ done: 1 });
    end.reject(new LongshoreError('BACKEND', 'The backend failed during retry: connection lost.'));
    const lines = (await response.text()).trim().split('\n');
    expect(JSON.parse(lines[1]!)).toMatchObject({
      code: 'BACKEND',
      detail: 'The backend failed during retry: connection lost.',
    });
    const other = held();
    const failed = ndjson(request(), other.work);
    other.end.reject(new TypeError('secret of the program'));
    expect(await failed.text()).not.toContain('secret');
  });

  it('ends the work when nobody reads any more, and what it tells then is dropped', async () => {
    const { work, end, seen } = held();
    const response = ndjson(request(), work);
    seen.tell!({ done: 1 });
    const reader = response.body!.getReader();
    await reader.read();
    expect(seen.signal!.aborted).toBe(false);
    await reader.cancel();
    expect(seen.signal!.aborted).toBe(true);
    seen.tell!({ done: 2 });
    end.resolve({ ended: 'stopped' });
    await end.promise;
  });

  it('ends the work when the request is cut', async () => {
    const cut = new AbortController();
    const { work, seen } = held();
    ndjson(request(cut.signal), work);
    cut.abort();
    await until(() => seen.signal!.aborted);
  });
});

describe('a change of many dead letters', () => {
  it.each<[string, unknown, string]>([
    ['retry', {}, 'either ids or a filter, got neither'],
    ['retry', { ids: ['a'], filter: {} }, 'either ids or a filter, got both'],
    ['retry', { ids: [] }, 'a list of 1 to 10000 ids, got 0'],
    ['retry', { ids: [1] }, 'each of ids to be a text'],
    ['retry', { filter: { jbo: 'a' } }, 'Did you mean "job"?'],
    ['retry', { filter: { reason: 'exhausetd' } }, 'Did you mean "exhausted"?'],
    ['retry', { filter: [] }, 'filter to be an object, got an array'],
    ['retry', { filter: {}, limit: 0 }, 'limit to be an integer from 1'],
    ['retry', { filter: {}, perSecond: '5' }, 'perSecond to be a number'],
    ['retry', { filter: {}, stopAbovePercent: 101 }, 'stopAbovePercent to be a number from 0 to 100'],
    ['retry', { filter: {}, dryrun: true }, 'Did you mean "dryRun"?'],
    ['retry', { filter: {}, dryRun: 'yes' }, 'dryRun to be true or false'],
    ['discard', { filter: {}, perSecond: 5 }, 'known members, got "perSecond"'],
    ['discard', null, 'the body to be an object, got null'],
    ['x/edit', { expiresInMs: 1 }, 'the whole new payload, got none'],
  ])('is refused: %s %j', async (action, body, words) => {
    const { handler, ask } = createBench();
    const headers = await pageHeaders(ask, await enter(handler));
    const answer = await ask(`/api/dead/${action}`, { body, headers });
    expectWrongOption(answer, words);
  });

  it('has at most 2 MB', async () => {
    const { handler, ask } = createBench();
    const headers = await pageHeaders(ask, await enter(handler));
    const answer = await ask('/api/dead/x/edit', { body: { payload: 'x'.repeat(2 * 1_048_576) }, headers });
    expect(answer.body).toMatchObject({ status: 413, code: 'LIMIT' });
  });
});

describe('a failure', () => {
  it.each([
    ['OPTION', 400],
    ['UNKNOWN_JOB', 404],
    ['NOT_FOUND', 404],
    ['UNKNOWN_KEY', 409],
    ['PAYLOAD_STORE', 409],
    ['LIMIT', 413],
    ['PAYLOAD', 422],
    ['CONFIG', 500],
    ['STORAGE_FULL', 503],
  ] as const)('%s is a %i in its own words', (code, status) => {
    const issues = [{ path: 'to', message: 'missing' }];
    const refusal = refusalFor(new LongshoreError(code, 'Its own words.', { issues }));
    expect(refusal).toMatchObject({ status, code, message: 'Its own words.', issues });
  });

  it('of another kind tells nothing of itself', () => {
    for (const error of [new TypeError('secret'), new LongshoreError('HANDLER', 'secret'), 'secret'])
      expect(refusalFor(error)).toMatchObject({
        status: 500,
        code: 'INTERNAL',
        message: expect.not.stringContaining('secret'),
      });
  });
});
