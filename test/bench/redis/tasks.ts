import { type Contender, drain, receive, send, sendSpaced } from '../contender.ts';
import type { Host } from '../task.ts';
import { beeQueue } from './bee-queue.ts';
import { bullmq } from './bullmq.ts';
import { longshore } from './longshore.ts';
import { raw } from './raw.ts';

const contenders = {
  longshore,
  raw: raw({}),
  'raw, k = 500': raw({ batch: 500 }),
  'raw with PUBLISH': raw({ ring: true }),
  'bee-queue': beeQueue,
  BullMQ: bullmq,
} satisfies Record<string, Contender>;

export type Name = keyof typeof contenders;

const of =
  <Input, Result>(task: (open: Contender, input: Input, host: Host) => Promise<Result>) =>
  (input: Input & { readonly who: Name }, host: Host): Promise<Result> =>
    task(contenders[input.who], input, host);

export const tasks = { drain: of(drain), receive: of(receive), send: of(send), sendSpaced: of(sendSpaced) };
