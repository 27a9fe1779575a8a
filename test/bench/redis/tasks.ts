import { type Contender, tasksOf } from '../kit/contender.ts';
import { fleetOf } from '../kit/fleet.ts';
import { beeQueue } from './bee-queue.ts';
import { bullmq } from './bullmq.ts';
import { longshore, openPlace } from './longshore.ts';
import { raw } from './raw.ts';

const contenders = {
  longshore,
  raw: raw({}),
  'raw, k = 500': raw({ batch: 500 }),
  'raw with PUBLISH': raw({ notify: true }),
  'bee-queue': beeQueue,
  BullMQ: bullmq,
} satisfies Record<string, Contender>;

export type Name = keyof typeof contenders;

export const tasks = { ...tasksOf(contenders), fleet: fleetOf(openPlace) };
