/** Limits, breakers and unique jobs of the built-in jobs, with a real receiver and a real command. */

import { describe, expect, it } from 'vitest';
import { commandJob } from '../../../core/jobs/command.ts';
import { type UrlJobDefinition, urlJob } from '../../../core/jobs/url.ts';
import { testJobs } from '../../testing/index.ts';
import { httpServer, scriptedLookup } from './kit.ts';
import { folder } from './scripts.ts';

const minute = 60_000;

/** A job that knows the server as a.test and as b.test. */
async function receiver(status: () => number, options: UrlJobDefinition) {
  const server = await httpServer((_, response) => response.writeHead(status()).end());
  const { lookup } = scriptedLookup({ 'a.test': [['127.0.0.1']], 'b.test': [['127.0.0.1']] });
  const hosts = ['a.test', 'b.test'].map((host) => `${host}:${server.port}`);
  const job = urlJob({ ...options, allowPrivate: hosts, testing: { lookup } });
  const t = testJobs(job);
  const call = async (host: string, path = '/') => {
    await t.client.enqueue(job, { url: `http://${host}:${server.port}${path}` });
    return (await t.drain()).at(-1)!;
  };
  return { ...t, job, call, port: server.port, calls: () => server.seen.length };
}

const waits = { outcome: 'requeued', counted: false, error: null };

describe('a URL job', () => {
  it('with a breaker calls a receiver that is down no more, until one call has succeeded', async () => {
    let status = 503;
    const b = await receiver(() => status, { maxRetries: 0, breaker: { failures: 2, openMs: minute } });
    for (let n = 0; n < 2; n++) expect(await b.call('a.test')).toMatchObject({ outcome: 'dead-lettered' });
    for (let n = 0; n < 3; n++) expect(await b.call('a.test')).toMatchObject(waits);
    expect(b.calls()).toBe(2);
    status = 200;
    b.clock.advance(minute);
    const outcomes = (await b.drain()).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['acked', 'acked', 'acked']);
    expect(b.calls()).toBe(5);
  });

  it('with a rate per host makes the others of the host wait, and no other host', async () => {
    const key = ({ url }: { url: string }) => new URL(url).host;
    const b = await receiver(() => 200, { rate: { limit: 1, perMs: minute, key } });
    expect(await b.call('a.test')).toMatchObject({ outcome: 'acked' });
    expect(await b.call('a.test')).toMatchObject(waits);
    expect(await b.call('b.test')).toMatchObject({ outcome: 'acked' });
    b.clock.advance(minute);
    expect(await b.drain()).toMatchObject([{ outcome: 'acked' }]);
    expect(b.calls()).toBe(3);
  });

  it('that is unique is not added twice while it waits', async () => {
    const b = await receiver(() => 200, { unique: { key: ({ url }) => url, during: 'waiting' } });
    const payload = { url: `http://a.test:${b.port}/` };
    const first = await b.client.enqueue(b.job, payload);
    expect(await b.client.enqueue(b.job, payload)).toMatchObject({ id: first.id, duplicate: true });
    await b.drain();
    expect(b.calls()).toBe(1);
  });
});

describe('a command job', () => {
  it('that is single runs one command at a time', async () => {
    const dir = folder();
    const command = dir.script('wait', 'echo $$ >> pids; while [ ! -e go ]; do sleep 0.02; done');
    const job = commandJob({ allow: [command], cwd: dir.path, single: true });
    const t = testJobs(job);
    for (let n = 0; n < 2; n++) await t.client.enqueue(job, { command });
    const first = t.drain();
    await dir.pids('pids', 1);
    expect(await t.drain()).toMatchObject([waits]);
    dir.file('go', '');
    expect(await first).toMatchObject([{ outcome: 'acked' }, { outcome: 'acked' }]);
    expect(await dir.pids('pids', 2)).toHaveLength(2);
  });
});
