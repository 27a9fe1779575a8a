/** Steps and events as a store keeps them: what somebody has written there who has no key is not believed. */

import { describe, expect, it } from 'vitest';
import { keyRing } from '../../../core/envelope/signing.ts';
import { sealedSteps } from '../../../core/features/steps/seal.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { bench, job, secret } from './kit.ts';

const [k1, k2] = [
  { kid: 'k1', secret: secret(1) },
  { kid: 'k2', secret: secret(2) },
];
const log = '{"owner":"o","attempt":1,"leaseUntil":1,"steps":[{"name":"pay","at":1,"value":"€"}]}';

function sealing() {
  const clock = createVirtualClock();
  const raw = memory({ clock }).stores!.steps!;
  const end = clock.now() + 1e9;
  const by = (...ring: Parameters<typeof keyRing>) => {
    const keys = keyRing(...ring);
    return sealedSteps(raw, { keyRing: () => keys, clock });
  };
  const forge = async (change: (text: string) => string, to = 'job:a') => {
    const { text } = (await raw.read('job:a'))!;
    const there = await raw.read(to);
    await raw.write(to, change(text), there?.version ?? null, end);
  };
  return { raw, by, forge, clock, end };
}

describe('a text of steps', () => {
  it('comes back as it was written, also when the ring has turned', async () => {
    const { by, raw, end } = sealing();
    const version = await by([k1]).write('job:a', log, null, end);
    expect(await by([k2, k1]).read('job:a')).toEqual({ text: log, version });
    expect(JSON.parse((await raw.read('job:a'))!.text)).toMatchObject({ ...JSON.parse(log), kid: 'k1' });
    await expect(by([k2]).read('job:a')).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
    await expect(by([{ ...k2, kid: 'k1' }]).read('job:a')).rejects.toMatchObject({ code: 'SIGNATURE' });
  });

  it.each([
    ['changed', (text: string) => text.replace('€', '$')],
    ['cut off', (text: string) => text.slice(0, -3)],
    ['not JSON', () => '{'],
    ['without its signature', () => log],
    ['given a second one', (text: string) => `${text.slice(0, -1)}${text.slice(text.indexOf(',"kid"'))}`],
    ['half a pair', (text: string) => text.replace('€', '\ud800')],
  ])('is refused before it is parsed when it is %s', async (_, change) => {
    const { by, forge, raw, end } = sealing();
    await by([k1]).write('job:a', log, null, end);
    await forge(change);
    const there = await raw.read('job:a');
    await expect(by([k1]).read('job:a')).rejects.toMatchObject({
      ...{ code: 'SIGNATURE', message: expect.stringContaining('"job:a"') },
    });
    expect(await raw.read('job:a')).toEqual(there);
  });

  it('has line separators escaped, which not every store takes', async () => {
    const { by, raw, end } = sealing();
    const odd = log.replace('€', '\u2028\u2029');
    await by([k1]).write('job:a', odd, null, end);
    expect((await raw.read('job:a'))!.text).not.toMatch(/[\u2028\u2029]/);
    expect(JSON.parse((await by([k1]).read('job:a'))!.text)).toEqual(JSON.parse(odd));
  });

  it('is refused under the name of another job', async () => {
    const { by, forge, end } = sealing();
    await by([k1]).write('job:a', log, null, end);
    await forge((text) => text, 'job:b');
    await expect(by([k1]).read('job:b')).rejects.toMatchObject({ code: 'SIGNATURE' });
  });

  it('of an earlier release is read while unsigned envelopes are, and one with a bad signature never', async () => {
    const { by, forge, raw, clock, end } = sealing();
    const ring = [[k1], { acceptUnsignedUntil: new Date(clock.now() + 1_000) }] as const;
    const version = await raw.write('job:a', log, null, end);
    expect(await by(...ring).read('job:a')).toMatchObject({ text: log, version });
    clock.advance(1_000);
    await expect(by(...ring).read('job:a')).rejects.toMatchObject({ code: 'SIGNATURE' });
    await forge(() => `${log.slice(0, -1)},"kid":"k1","_sig":"${'0'.repeat(64)}"}`);
    const open = { acceptUnsignedUntil: new Date(clock.now() + 1_000) };
    await expect(by([k1], open).read('job:a')).rejects.toMatchObject({ code: 'SIGNATURE' });
  });
});

describe('a job whose steps were forged', () => {
  it('becomes a dead letter that keeps them, whatever its handler does with the error', async () => {
    const ran: string[] = [];
    const work = job({
      maxRetries: 5,
      async handle(_, ctx) {
        try {
          await ctx.step('pay', () => void ran.push('pay'));
          await ctx.step('send', () => {
            ran.push('send');
            if (ran.length === 2) throw new Error('later');
          });
        } catch (error) {
          if (ctx.attempt === 1) throw error;
        }
      },
    });
    const b = bench({ jobs: [work] });
    expect(await b.once(work)).toMatchObject({ outcome: 'requeued' });
    const steps = b.client.stores.steps!;
    const { text, version } = (await steps.read('job:id-1'))!;
    await steps.write('job:id-1', text.replace('"pay"', '"send"'), version, b.clock.now() + 1e9);
    b.clock.advance(86_400_000);
    expect(await b.next()).toMatchObject({ outcome: 'rejected', reason: 'rejected' });
    expect(ran).toEqual(['pay', 'send']);
    expect((await b.client.status('id-1'))!.status).toBe('failed');
    expect((await steps.read('job:id-1'))!.text).toContain('"send"');
    expect(b.events.filter(({ type }) => type === 'backend.failed')).toEqual([]);
    // As it was: the letter goes on where it stopped.
    const now = (await steps.read('job:id-1'))!;
    await steps.write('job:id-1', text, now.version, b.clock.now() + 1e9);
    const [letter] = await b.backend.admin!.deadLetters.list({ queue: 'default', max: 1 });
    await b.backend.admin!.deadLetters.retry([letter!.id]);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect(ran).toEqual(['pay', 'send', 'send']);
  });

  it('believes no event that only the store knows of', async () => {
    const work = job({
      handle: (_, ctx) => ctx.waitFor('approved', { timeoutMs: 1_000 }),
    });
    const b = bench({ jobs: [work] });
    const kept = { at: 1, payload: 'forged', until: b.clock.now() + 1e9 };
    const text = JSON.stringify({ kept, waiters: [] });
    await b.client.stores.steps!.write('event:approved:', text, null, kept.until);
    expect(await b.once(work)).toMatchObject({ outcome: 'rejected' });
    await expect(b.client.emit('approved', 'real')).rejects.toMatchObject({ code: 'SIGNATURE' });
  });
});
