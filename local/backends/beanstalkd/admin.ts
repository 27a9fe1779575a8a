import type { PeekedMessage, QueueAdmin, QueueStats } from '../../../core/contract/admin.ts';
import { beanstalkdDeadLetters } from './dead-letters.ts';
import { infoOf, readyAtOf } from './job.ts';
import { attemptOf, readMetadata } from './job-metadata.ts';
import { refusal, textOf } from './replies.ts';
import type { BeanstalkdState } from './state.ts';

/** Ids are reported in portions of this size. A process that dies during a clear leaves at most one portion unreported. */
const idsAtOnce = 100;
/** The longest time of beanstalkd: 136 years. */
const foreverSeconds = 2 ** 32 - 1;

export function beanstalkdAdmin(state: BeanstalkdState): QueueAdmin {
  const { link, clock } = state;

  async function peekAt(tube: string, command: 'peek-ready' | 'peek-delayed'): Promise<PeekedMessage | null> {
    const peeked = await link.peek(command, tube);
    if (!peeked) return null;
    const { jobId } = peeked;
    const body = textOf(peeked.data);
    const stats = await link.jobStats(jobId);
    if (!stats || (stats.state !== 'ready' && stats.state !== 'delayed')) return null;
    const metadata =
      stats.reserves > 0 ? await readMetadata(state, jobId, body).catch(state.metadataFailed) : null;
    const info = infoOf(body, jobId);
    const now = clock.now();
    const ranked = readyAtOf(stats.pri, info.priority, state.ageingMs);
    // A job ranks later than it became ready if others of its group are ahead.
    const readyAt =
      stats.state === 'delayed'
        ? now + stats.leftSeconds * 1_000
        : ranked !== null && ranked <= now
          ? ranked
          : now - stats.ageSeconds * 1_000;
    const attempt = attemptOf({ ...stats, reserves: stats.reserves + 1 }, metadata).attempt - 1;
    return { ...info, queue: state.queueOf(tube), readyAt, attempt };
  }

  async function statsOf(tube: string): Promise<QueueStats> {
    const stats = await link.tubeStats(tube);
    const { ready = 0, delayed = 0, reserved: leased = 0, buried: dead = 0, paused = false } = stats ?? {};
    const next = ready > 0 ? await peekAt(tube, 'peek-ready') : null;
    const oldestReadyMs = next ? Math.max(0, clock.now() - next.readyAt) : null;
    return { queue: state.queueOf(tube), ready, delayed, leased, dead, paused, oldestReadyMs };
  }

  async function pause(queue: string, seconds: number): Promise<void> {
    const tube = state.tubeOf(queue);
    // The server forgets a tube that is empty and that no connection watches, and its pause with it.
    await link.send(`watch ${tube}`);
    const { word } = await link.send(`pause-tube ${tube} ${seconds}`);
    if (word !== 'PAUSED') throw refusal('pausing a tube', word);
  }

  return {
    deadLetters: beanstalkdDeadLetters(state),
    know: (queues) => queues.forEach(state.know),
    async stats(only) {
      const tubes = only === undefined ? await state.tubes() : [state.tubeOf(only)];
      return Promise.all(tubes.map(statsOf));
    },
    /** beanstalkd shows only the next ready job and the next delayed job. */
    async peek(queue, max) {
      const tube = state.tubeOf(queue);
      const shown = await Promise.all([peekAt(tube, 'peek-ready'), peekAt(tube, 'peek-delayed')]);
      return shown.filter((one) => one !== null).slice(0, max);
    },
    async clear(queue, gone) {
      const tube = state.tubeOf(queue);
      let count = 0;
      let ids: string[] = [];
      const tell = async (): Promise<void> => {
        await gone?.(ids);
        ids = [];
      };
      for (const command of ['peek-delayed', 'peek-ready']) {
        for (let next = await link.peek(command, tube); next; next = await link.peek(command, tube)) {
          const answer = await link.send(`delete ${next.jobId}`);
          if (answer.word !== 'DELETED') continue; // a worker was quicker
          count++;
          ids.push(infoOf(textOf(next.data), next.jobId).id);
          if (ids.length === idsAtOnce) await tell();
        }
      }
      await tell();
      return count;
    },
    setPaused: (queue, isPaused) => pause(queue, isPaused ? foreverSeconds : 0),
  };
}
