/** Results and jobs that wait, by the function with an HTTP trigger. */

import { describe, expect, it } from 'vitest';
import { functionAppsHere, minute } from './kit.ts';

const open = functionAppsHere();

describe('the HTTP function', () => {
  const key = 'k'.repeat(32);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const url = 'https://shop.azurewebsites.net/api';
  const apiKeys = [{ id: 'ops', key }];

  it('waits for the result, and says that Service Bus finds no message by its id', async () => {
    const t = await open({ apiKeys });
    const answer = async (method: string, path: string, body?: string) => {
      const response = await t.host.fetch(`${url}${path}`, { method, headers, ...(body && { body }) });
      return { status: response.status, body: await response.json() };
    };
    const sent = await answer('POST', '/jobs/mail.send?delayMs=60000', '{"name":"über"}');
    const { id } = sent.body as { id: string };
    for (const [method, verb] of [
      ['PATCH', ''],
      ['POST', '/promote'],
      ['POST', '/remove'],
    ] as const)
      expect(
        await answer(method, `/jobs/${id}${verb}`, method === 'PATCH' ? '{"priority":1}' : undefined),
      ).toMatchObject({
        status: 501,
        body: { code: 'CONFIG' },
      });
    expect(await answer('GET', `/jobs/${id}/result`)).toMatchObject({
      status: 202,
      body: { status: 'pending' },
    });
    t.clock.advance(minute);
    await t.trigger.poll('mail');
    expect(await answer('GET', `/jobs/${id}/result?timeoutMs=1000`)).toMatchObject({
      status: 200,
      body: { id, status: 'completed' },
    });
  });
});
