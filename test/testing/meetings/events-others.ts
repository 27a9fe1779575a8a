/** Other processes on the same data, and other ways in which a job reaches its handler. */

import { createHttpHandler } from '../../../core/surfaces/http/index.ts';
import { move as moveBacklog } from '../../../local/move/move.ts';
import { outbox } from '../../../local/outbox/outbox.ts';
import { startRelay } from '../../../local/outbox/relay.ts';
import type { Happening, Meeting } from './event.ts';
import { jobOf, queue } from './jobs.ts';
import { outboxSource } from './outbox-rows.ts';
import { signing } from './process.ts';
import type { World } from './world.ts';

const minute = 60_000;

export const move: Happening = {
  meetings: [
    {
      when: 'while it waits',
      async waiting(world) {
        const { clock } = world.timeline;
        const from = world.opening();
        const to = await world.anotherPlace();
        const moved = moveBacklog({
          ...{
            from,
            to,
            queues: [queue],
            clock,
            keyRing: () => signing,
            signal: new AbortController().signal,
          },
          ...{ onWaiting() {}, onMoved() {} },
        });
        const refused = await world.soon(
          world.timeline.during(moved).then(
            (it) => it.refused,
            (error: Error) => error,
          ),
        );
        if (refused instanceof Error || refused.length > 0) world.backHome();
        if (refused instanceof Error) {
          if (!('code' in refused)) throw refused;
          world.refused.add(refused.code as string);
        }
        if (!(refused instanceof Error)) world.people = world.start('people');
      },
    },
  ],
};

const late = (ms: number, words: string): Meeting => ({
  when: `with a relay that is ${words} late`,
  takesMs: ms,
  deafens: true,
  before(world) {
    const { clock } = world.timeline;
    const backend = outbox(outboxSource(clock), { to: world.opening(), clock });
    world.address = backend;
    world.sender = world.start('sender');
    world.people = world.start('people');
    clock.after(ms, () => startRelay(backend, { clock, random: () => 0.5 }));
  },
  async waiting(world) {
    // Meanwhile workers have work only if they check batches.
    if (!world.rounds.get('1')?.batches) await world.pass(ms - minute);
  },
});

export const lateRelay: Happening = { meetings: [late(minute, 'a minute'), late(120 * minute, 'two hours')] };

const awayMs = 70_000;

export const failover: Happening = {
  meetings: [
    {
      when: 'for more than a minute',
      takesMs: awayMs,
      splits: true,
      again: 1,
      async before(world) {
        const first = world.opening();
        const second = await world.anotherPlace();
        world.address = {
          backends: { default: second, first },
          home: 'first',
          failover: { first: 'default' },
        };
        world.sender = world.start('sender');
        world.people = world.start('people');
        world.isAway = (call, by) =>
          call.startsWith('first/') && !by.startsWith('people') && world.timeline.elapsed() < awayMs;
      },
    },
  ],
};

export const processWithoutBackend: Happening = {
  meetings: [
    {
      when: 'all the time',
      async before(world) {
        const [backend, other] = [world.opening(), await world.anotherPlace()];
        world.address = { backends: { default: backend, other: null }, home: 'default' };
        world.sender = world.start('sender');
        world.people = world.start('people');
        const bystander = world.start('bystander', { backends: { default: null, other }, home: 'default' });
        bystander.startTicking();
        const sent = await world.soon(world.sample.send(bystander, '0').catch((error: Error) => error));
        if (!(sent instanceof Error)) throw new Error('A process without the backend has sent.');
        if (!('code' in sent)) throw sent;
        world.refused.add(sent.code as string);
      },
    },
  ],
};

export const otherRelease: Happening = {
  meetings: [
    {
      when: 'that does not know the jobs',
      // It releases them for 5 s each time.
      takesMs: 30_000,
      waiting(world) {
        const other = jobOf<null>(world.people, 'another', () => {});
        const parts = ({ queues }: { readonly queues?: object | undefined }) => ({ jobs: [other], queues });
        const release = world.start(
          'other release',
          undefined,
          (self) => parts(world.sample.parts(self)) as never,
        );
        release.startWorker();
      },
    },
  ],
};

const key = 'globex.0123456789abcdef0123456789abcdef';

async function intrude(world: World): Promise<void> {
  const handler = createHttpHandler(world.people.client, {
    apiKeys: [{ id: 'globex', key, tenantId: 'globex', schedules: true, events: true }],
    rateLimit: false,
  });
  const { jobs = [], batches = [], chains = [] } = world.rounds.get('1') ?? {};
  const paths: [method: string, path: string][] = [
    ...jobs.flatMap(({ id }): [string, string][] => [
      ['GET', `/jobs/${id}`],
      ['GET', `/jobs/${id}/result?timeoutMs=0`],
      ['DELETE', `/jobs/${id}`],
      ['POST', `/jobs/${id}/remove`],
      ['POST', `/jobs/${id}/promote`],
    ]),
    ...batches.flatMap((id): [string, string][] => [
      ['GET', `/batches/${id}`],
      ['POST', `/batches/${id}/cancel`],
    ]),
    ...chains.flatMap((id): [string, string][] => [
      ['GET', `/chains/${id}`],
      ['POST', `/chains/${id}/cancel`],
    ]),
    ...(world.sample.ticks
      ? ([
          ['GET', '/schedules/schedule-1'],
          ['DELETE', '/schedules/schedule-1'],
        ] as [string, string][])
      : []),
  ];
  for (const [method, path] of paths) {
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: { authorization: `Bearer ${key}` },
    });
    const { status } = await world.soon(handler(request));
    if (status !== 404) throw new Error(`${method} ${path} answers ${status} to another tenant, not 404.`);
  }
}

export const otherTenant: Happening = {
  meetings: [
    { when: 'while it waits', waiting: intrude },
    { when: 'while it runs', running: intrude },
  ],
};
