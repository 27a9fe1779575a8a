import { type Contender, drain, receive, send, sendSpaced } from '../kit/contender.ts';
import type { Host } from '../kit/task.ts';
import { graphile } from './graphile.ts';
import { longshore } from './longshore.ts';
import { pgBoss } from './pg-boss.ts';
import { raw } from './raw.ts';

const contenders = {
  longshore,
  raw: raw({}),
  'raw, k = 500': raw({ batch: 500 }),
  'raw with NOTIFY': raw({ notify: true }),
  'graphile-worker': graphile,
  'pg-boss': pgBoss,
} satisfies Record<string, Contender>;

export type Name = keyof typeof contenders;

const of =
  <Input, Result>(task: (open: Contender, input: Input, host: Host) => Promise<Result>) =>
  (input: Input & { readonly who: Name }, host: Host): Promise<Result> =>
    task(contenders[input.who], input, host);

export const tasks = { drain: of(drain), receive: of(receive), send: of(send), sendSpaced: of(sendSpaced) };
