import { type Contender, tasksOf } from '../kit/contender.ts';
import { jackd } from './jackd.ts';
import { longshore } from './longshore.ts';
import { raw } from './raw.ts';

const contenders = { longshore, raw, jackd } satisfies Record<string, Contender>;

export type Name = keyof typeof contenders;

export const tasks = tasksOf(contenders);
