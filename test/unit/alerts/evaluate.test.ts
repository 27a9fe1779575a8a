/** An alert fires once it has held for its time, is told once over all hosts and restarts, and ends once. */

import { describe, expect, it } from 'vitest';
import type { KeyStore } from '../../../core/contract/store.ts';
import { alert, sendTo } from '../../../core/features/alerts/index.ts';
import type { AlertNotice } from '../../../core/kernel/app/alerts.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { startMs } from '../core/kit.ts';
import { anotherHost, instead, look, minuteMs, watched } from './kit.ts';

const fired = 'firing QueueBacklogHigh default';
const resolved = 'resolved QueueBacklogHigh default';

describe('an alert', () => {
  it('fires once its condition has held for its time, and is sent once', async () => {
    const w = watched();
    await w.backlog(3);
    await w.look();
    await w.minutes(4);
    expect(w.told()).toEqual([]);
    await w.minutes(1);
    expect(w.told()).toEqual([fired]);
    await w.minutes(30);
    expect(w.told()).toEqual([]);
    expect(w.eventsOf('alert.firing')).toEqual([
      {
        type: 'alert.firing',
        alert: 'QueueBacklogHigh',
        severity: 'warning',
        subject: 'default',
        value: 3,
        message: '"default": 3 jobs wait, more than 2',
      },
    ]);
  });

  it('ends with one message that says how long it was', async () => {
    const w = watched();
    await w.backlog(3);
    await w.look();
    await w.minutes(10);
    w.told();
    await w.clear();
    await w.minutes(3);
    expect(w.sent).toMatchObject([
      { state: 'resolved', value: 0, since: startMs, at: startMs + 11 * minuteMs, reminder: false },
    ]);
    expect(w.eventsOf('alert.resolved')).toMatchObject([{ subject: 'default', afterMs: 11 * minuteMs }]);
  });

  it('says nothing of a condition that ended before its time, and begins anew', async () => {
    const w = watched();
    await w.backlog(3);
    await w.look();
    await w.minutes(4);
    await w.clear();
    await w.minutes(1);
    await w.backlog(3);
    await w.minutes(5);
    expect(w.told()).toEqual([]);
    await w.minutes(1);
    expect(w.told()).toEqual([fired]);
  });

  it('does not hold at its limit, only above', async () => {
    const w = watched();
    await w.backlog(2);
    await w.look();
    await w.minutes(10);
    expect(w.told()).toEqual([]);
  });

  it('is repeated as often as remindMs says', async () => {
    const w = watched({ remindMs: 10 * minuteMs });
    await w.backlog(3);
    await w.look();
    await w.minutes(25);
    expect(w.sent.map(({ at, reminder }) => [(at - startMs) / minuteMs, reminder])).toEqual([
      [5, false],
      [15, true],
      [25, true],
    ]);
  });

  it('that could not be looked at for long begins anew: what held may have ended in between', async () => {
    const w = watched();
    await w.backlog(3);
    await w.look();
    w.clock.advance(60 * minuteMs);
    await w.look();
    expect(w.told()).toEqual([]);
    await w.minutes(5);
    expect(w.told()).toEqual([fired]);
  });

  it('stays as it is while nothing can be read, and ends when its queue is gone', async () => {
    const w = watched();
    await w.backlog(3);
    await w.look();
    await w.minutes(5);
    w.told();
    const { admin } = w.backend;
    const broken = instead(w.client, {
      backend: { admin: { ...admin!, stats: () => Promise.reject(new Error('connection refused')) } },
    });
    w.clock.advance(minuteMs);
    await look({ alerts: w.alerts, client: broken });
    expect(w.told()).toEqual([]);
    const empty = instead(w.client, { backend: { admin: { ...admin!, stats: async () => [] } } });
    w.clock.advance(minuteMs);
    await look({ alerts: w.alerts, client: empty });
    expect(w.told()).toEqual([resolved]);
  });
});

describe('several hosts', () => {
  it('that look at the same moment send one message', async () => {
    const w = watched();
    const sent: AlertNotice[] = [];
    const hosts = Array.from({ length: 5 }, () =>
      anotherHost(w.client, {
        to: sendTo((notices) => void sent.push(...notices)),
        rules: [alert.backlog({ above: 2 })],
      }),
    );
    await w.backlog(3);
    for (let i = 0; i < 12; i++) {
      await Promise.all(hosts.map((host) => look(host)));
      w.clock.advance(minuteMs);
    }
    await w.clear();
    await Promise.all(hosts.map((host) => look(host)));
    expect(sent.map(({ state }) => state)).toEqual(['firing', 'resolved']);
  });

  it('that look one after the other ask the backend once a minute', async () => {
    const w = watched();
    let asked = 0;
    const { admin } = w.backend;
    const counting = instead(w.client, {
      backend: {
        admin: {
          ...admin!,
          stats: (queue) => {
            asked++;
            return admin!.stats(queue);
          },
        },
      },
    });
    for (let i = 0; i < 60; i++) {
      await look({ alerts: w.alerts, client: counting });
      w.clock.advance(10_000);
    }
    expect(asked).toBe(12); // every 50 s in 10 minutes
  });

  it('are not kept out for ever by one that died while it looked', async () => {
    const w = watched();
    await w.client.stores.keys.claim('alerts:default', 'a dead host', w.clock.now() + 30_000);
    await w.backlog(3);
    await w.look();
    await w.minutes(6);
    expect(w.told()).toEqual([fired]);
  });

  it('do not stop looking because a clock was an hour ahead, and fire in their own time', async () => {
    const w = watched();
    await w.backlog(3);
    w.clock.advance(60 * minuteMs);
    await w.look();
    w.clock.advance(-60 * minuteMs);
    await w.minutes(4);
    expect(w.told()).toEqual([]);
    await w.minutes(2);
    expect(w.told()).toEqual([fired]);
    expect(w.eventsOf('alert.firing')).toHaveLength(1);
  });

  it('of which one was stopped for longer than its hold: what it saw is not sent a second time', async () => {
    const w = watched({ rules: [alert.backlog({ above: 2, forMs: 0 })] });
    await w.backlog(3);
    const { admin } = w.backend;
    const frozen = {
      ...instead(w.client, {
        backend: {
          admin: {
            ...admin!,
            async stats(queue) {
              w.clock.advance(minuteMs); // its hold is over by the time of the store, and another host looks
              await w.look();
              return admin!.stats(queue);
            },
          },
        },
      }),
      app: { ...w.app, clock: createVirtualClock(startMs) },
    };
    await look({ alerts: w.alerts, client: frozen });
    expect(w.eventsOf('alert.firing')).toHaveLength(1);
    expect(w.told()).toEqual([fired]);
  });
});

describe('a restart', () => {
  const definition = (sent: AlertNotice[]) => ({
    to: sendTo((notices) => void sent.push(...notices)),
    rules: [alert.backlog({ above: 2 })],
  });

  it('between firing and its end sends the end, once', async () => {
    const w = watched();
    await w.backlog(3);
    await w.look();
    await w.minutes(5);
    expect(w.told()).toEqual([fired]);
    const sent: AlertNotice[] = [];
    const next = anotherHost(w.client, definition(sent));
    w.clock.advance(minuteMs);
    await look(next);
    expect(sent).toEqual([]);
    await w.clear();
    for (let i = 0; i < 3; i++) {
      w.clock.advance(minuteMs);
      await look(next);
    }
    expect(sent.map(({ state }) => state)).toEqual(['resolved']);
  });

  it('of a host that died after it had sent and before it had noted that: it is sent again, and not lost', async () => {
    const w = watched();
    await w.backlog(3);
    await w.look();
    await w.minutes(4);
    const keys: KeyStore = w.client.stores.keys;
    const dying = instead(w.client, {
      stores: { keys: { ...keys, release: () => Promise.reject(new Error('the host died here')) } },
    });
    w.clock.advance(minuteMs);
    await expect(look({ alerts: w.alerts, client: dying })).rejects.toThrow('died here');
    expect(w.told()).toEqual([fired]);
    await w.minutes(2);
    expect(w.told()).toEqual([fired]);
  });

  it('with a text in the store that is not ours begins anew', async () => {
    const w = watched();
    const { keys } = w.client.stores;
    await keys.claim('alerts:default', 'x', w.clock.now() + 1_000);
    await keys.release('alerts:default', 'x', { value: 'not JSON', keepUntil: w.clock.now() + 1e9 });
    await w.backlog(3);
    await w.look();
    await w.minutes(5);
    expect(w.told()).toEqual([fired]);
  });
});

describe('a key store that does not answer', () => {
  /** Queue and keys in one database, which is away. */
  const down = (w: ReturnType<typeof watched>) => {
    const refuse = () => Promise.reject(new Error('connect ECONNREFUSED user:secret@db'));
    return instead(w.client, {
      stores: { keys: { ...w.client.stores.keys, claim: refuse } },
      backend: { admin: { ...w.backend.admin!, stats: refuse } },
    });
  };
  const rules = [alert.backendDown(), alert.backlog({ above: 2 })];

  it('is told by each host once, with no more than a code, and its end too', async () => {
    const w = watched({ rules });
    const client = down(w);
    for (let i = 0; i < 5; i++) {
      await expect(look({ alerts: w.alerts, client })).rejects.toThrow('ECONNREFUSED');
      w.clock.advance(minuteMs);
    }
    expect(w.sent.map(({ alert, state, text }) => [alert, state, text])).toEqual([
      ['BackendDown', 'firing', 'memory does not answer: no reason is known'],
    ]);
    w.told();
    await w.look();
    await w.minutes(3);
    expect(w.told()).toEqual(['resolved BackendDown']);
  });

  it('ends once for all hosts that saw it', async () => {
    const w = watched({ rules });
    const sent: AlertNotice[] = [];
    const other = anotherHost(down(w), { to: sendTo((notices) => void sent.push(...notices)), rules });
    for (let i = 0; i < 4; i++) {
      await look({ alerts: w.alerts, client: down(w) }).catch(() => {});
      await look(other).catch(() => {});
      w.clock.advance(minuteMs);
    }
    expect([w.told(), sent.splice(0).length]).toEqual([['firing BackendDown'], 1]);
    await w.look();
    w.clock.advance(minuteMs);
    await look({ ...other, client: w.client });
    expect([w.told(), sent]).toEqual([['resolved BackendDown'], []]);
  });

  it('that hangs is left after 11 s', async () => {
    const w = watched({ rules });
    const hanging = instead(w.client, {
      stores: { keys: { ...w.client.stores.keys, claim: () => new Promise(() => {}) } },
    });
    const looking = look({ alerts: w.alerts, client: hanging });
    const ended = expect(looking).rejects.toThrow('Expected an answer within 11000 ms');
    for (let i = 0; i < 50; i++) {
      await new Promise(setImmediate);
      w.clock.advance(1_000);
    }
    await ended;
  });
});
