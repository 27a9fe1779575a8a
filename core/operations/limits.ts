/** Lists and resets limits. */

import { isStorable } from '../base/json.ts';
import { type LimitFilter, type LimitPage, limitStoreOf, listLimits } from '../features/limits/views.ts';
import { wakeAll } from '../features/limits/wake.ts';
import { eachOf } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { wrongOption } from '../kernel/enqueue/prepare.ts';
import { keepersOf, orFirst } from '../routing/each.ts';
import { sortedOf } from '../routing/pages.ts';
import { change, look } from './operation.ts';

const longestKey = 500;
const mostAtOnce = 10_000;

/** All backends that keep limits, also those that share a store: jobs that wait at a limit are on each of them. */
const homesOf = (client: Client): readonly Client[] =>
  orFirst(
    client,
    eachOf(client).filter(({ stores }) => stores.limits),
  );

export const limits = {
  list: look({
    summary: 'Limits that are in use, and those that the app declares',
    async run(client, filter: LimitFilter = {}) {
      const { prefix = '', after = '', max = 1 } = filter;
      for (const [name, text] of Object.entries({ prefix, after }))
        if (!isKey(text)) throw wrongOption(`${name} to be a text of at most ${longestKey} characters`);
      if (!Number.isSafeInteger(max) || max < 1 || max > mostAtOnce)
        throw wrongOption(`max to be an integer from 1 to ${mostAtOnce}, got ${max}`);
      const keepers = keepersOf(eachOf(client), ({ stores }) => stores.limits);
      const pageOf = async ({ stores }: Client) => {
        const sharing = eachOf(client).filter((one) => one.stores.limits === stores.limits);
        const page = await listLimits(sharing, filter);
        return { rows: page.limits, next: page.next };
      };
      const { rows: limits, ...rest } = await sortedOf(orFirst(client, keepers), pageOf, ({ key }) => key);
      return { limits, ...rest } satisfies LimitPage;
    },
  }),
  reset: change({
    action: 'limit.reset',
    summary: 'Free the slots of a limit, and make the jobs that wait for it ready',
    subject: {
      noun: 'limit',
      parameter: 'name',
      text: 'key of a limit',
      homes: homesOf,
      check(client, key) {
        limitStoreOf(client);
        if (!isKey(key) || key === '')
          throw wrongOption(`the key of a limit to be a text of 1 to ${longestKey} characters`);
      },
    },
    // Jobs that hold a slot keep running without it.
    async run(client, key: string) {
      const changed = await limitStoreOf(client).reset(key);
      await wakeAll(client, key);
      return changed;
    },
    done: 'All slots are free, and the jobs that waited for it are ready.',
    already: 'No slot was in use, and it was not on hold.',
  }),
};

const isKey = (text: unknown): text is string =>
  typeof text === 'string' && text.length <= longestKey && isStorable(text);
