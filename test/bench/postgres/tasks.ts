import { type Contender, tasksOf } from '../kit/contender.ts';
import { fleetOf } from '../kit/fleet.ts';
import { graphile } from './graphile.ts';
import { longshore, openPlace } from './longshore.ts';
import { pgBoss } from './pg-boss.ts';
import { raw } from './raw.ts';
import { countServerWork } from './server-work.ts';

const contenders = {
  longshore,
  raw: raw({}),
  'raw, k = 500': raw({ batch: 500 }),
  'raw with NOTIFY': raw({ notify: true }),
  'graphile-worker': graphile,
  'pg-boss': pgBoss,
} satisfies Record<string, Contender>;

export type Name = keyof typeof contenders;

export const tasks = { ...tasksOf(contenders, countServerWork), fleet: fleetOf(openPlace) };
