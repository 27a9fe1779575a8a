/** Chains: jobs that run one after another, each with the result of the one before. */

import { door, verbsOf } from '../../base/lazy.ts';
import type { Chains } from '../../kernel/app/chain.ts';
import type { RunStep } from '../../kernel/attempt/attempt.ts';
import type { Feature } from '../feature.ts';

const code = door(() => import('./door.ts'));

export const chainVerbs = ['get', 'cancel'] as const;

/** Passes the result of a job to the next link of its chain, or to its batch. */
const chained: RunStep = {
  for: ({ envelope }) => !!(envelope?.chain ?? envelope?.results),
  run: (it, next) => code(({ handOn }) => handOn(it, next)),
};

export const chains = {
  run: { 'hand on': chained },
  client: (client) => ({
    chain: (...chain) => code(({ sendChain }) => sendChain(client, ...chain) as never),
    chains: verbsOf<Chains>(chainVerbs, async () => code(({ chainsOf }) => chainsOf(client))),
  }),
  predecessor: async (...asked) =>
    /^(batch\.)?chain\./.test(asked[3]) ? code(({ linkBefore }) => linkBefore(...asked)) : null,
  context: {
    chain: {
      of:
        ({ ports }, ctx) =>
        (links, payload, options) =>
          ports.client.chain(links, payload, { context: ctx.context, ...options }),
      isolated: () => code(({ isolatedChain }) => isolatedChain),
    },
  },
} satisfies Feature;
