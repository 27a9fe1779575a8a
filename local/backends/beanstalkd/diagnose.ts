/** The checks that `longshore doctor` runs on a beanstalkd server. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import type { Check, Problem } from '../../../core/contract/diagnosis.ts';
import { check, checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { refusal } from './replies.ts';
import { probe } from './sending.ts';
import type { BeanstalkdState } from './state.ts';

interface BeanstalkdFacts {
  readonly state: BeanstalkdState;
  /** A value in the output of `stats`. */
  shown(name: string): Promise<string>;
}

export function beanstalkdDiagnosis(state: BeanstalkdState): Check[] {
  const stats = onDemand(async () => {
    const { word, data } = await state.link.send('stats');
    if (word !== 'OK') throw refusal('asking for numbers', word);
    return data!;
  });
  const shown = async (name: string) =>
    new RegExp(`^${name}: "?([^"\\n]*)"?$`, 'm').exec(await stats())?.[1] ?? '';
  return checksOf(beanstalkdChecks, { state, shown });
}

const server = 'the beanstalkd server';
const found = (text: string, remedy: string): Problem => ({ where: server, text, remedy });

export const beanstalkdChecks: readonly Check<BeanstalkdFacts>[] = [
  check('beanstalkd.binlog', 'error', async ({ shown }) => {
    if (Number(await shown('binlog-current-index')) > 0) return [];
    return found(
      'It has no binlog: a restart loses all jobs.',
      'Start it with -b /var/lib/beanstalkd, and with -f 0 to lose nothing in a power cut.',
    );
  }),
  check('beanstalkd.size', 'error', async ({ state, shown }) => {
    const most = Number(await shown('max-job-size'));
    if (most === state.maxBodyBytes) return [];
    const text = `max-job-size is ${most} bytes, and maxBodyBytes of beanstalkd() is ${state.maxBodyBytes}`;
    if (most < state.maxBodyBytes)
      return found(
        `${text}: the server refuses larger jobs when they are sent.`,
        `Start it with -z ${state.maxBodyBytes}, or lower maxBodyBytes.`,
      );
    const problem = found(
      `${text}: jobs that the server would accept are refused, or their payload is stored elsewhere.`,
      `Give beanstalkd() maxBodyBytes: ${most}.`,
    );
    return { ...problem, severity: 'note' };
  }),
  check('beanstalkd.draining', 'error', async ({ shown }) => {
    if ((await shown('draining')) !== 'true') return [];
    return found(
      'It is in drain mode: it takes no new jobs until it is restarted.',
      'Restart it when it is empty, or at once if it has a binlog.',
    );
  }),
  check('beanstalkd.full', 'error', async ({ state }) => {
    const error = await probe(state).then(() => null, toError);
    if (!(error instanceof LongshoreError) || error.code !== 'STORAGE_FULL') return [];
    return found(
      'It accepts no jobs: it has no memory left, or no space for its binlog.',
      'Let workers drain it, or add memory or disk space.',
    );
  }),
  check('beanstalkd.store', 'warning', ({ state }) => {
    if (state.keepsMetadata) return [];
    return {
      where: 'beanstalkd()',
      text: 'It has no store: there are no records, and idempotency keys, schedules and the list of workers hold within one process only.',
      remedy: 'Give it one: beanstalkd({ url, store: sqliteStore("jobs.db") }).',
    };
  }),
];
