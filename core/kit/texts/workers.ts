/** Heartbeats over texts, one text per worker. A heartbeat is one write over the last version that this process wrote. */

import type { Clock } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { WorkerBeat, WorkerRegistry } from '../../contract/store.ts';
import type { StoredText, TextStore } from '../../contract/texts.ts';
import { forgetWorkerMs } from '../worker-state.ts';
import { sectionOf } from './section.ts';

interface StoredBeat {
  readonly beat: WorkerBeat;
  /** How old the heartbeat was when the text was written. */
  readonly lagMs: number;
  readonly drain?: true;
}

interface Written {
  readonly version: string | null;
  readonly drain?: true;
}

const hourMs = 3_600_000;
const pageSize = 500;
/** A heartbeat and a request to drain may race once or twice. */
const mostTries = 20;

/** Rounded up to whole hours, so that the index on it seldom changes. */
const endOf = (seenAt: number): number => Math.ceil((seenAt + forgetWorkerMs) / hourMs) * hourMs;

export function textWorkers(texts: TextStore, clock: Clock): Required<WorkerRegistry> {
  const section = sectionOf(texts, 'worker/');
  /** The workers of this process. */
  const own = new Map<string, Written>();

  const storedIn = ({ text }: StoredText): StoredBeat => JSON.parse(text) as StoredBeat;
  /** In the time of this host, because the caller compares it with its own clock. */
  const seenAtOf = ({ beat, lagMs }: StoredBeat, { agoMs }: StoredText, now: number): number =>
    agoMs === undefined ? beat.seenAt : now - agoMs - lagMs;

  async function readOwn(id: string): Promise<Written> {
    const found = await section.read(id);
    if (!found) return { version: null };
    const { drain } = storedIn(found);
    return { version: found.version, ...(drain && { drain }) };
  }

  return {
    async heartbeat(beat) {
      const { id, seenAt } = beat;
      for (let tries = 0; tries < mostTries; tries++) {
        const { version, drain } = own.get(id) ?? (await readOwn(id));
        const lagMs = Math.max(0, Math.ceil(clock.now() - seenAt));
        const text = JSON.stringify({ beat, lagMs, ...(drain && { drain }) } satisfies StoredBeat);
        const written = await section.write(id, text, version, endOf(seenAt));
        if (written !== null) {
          own.set(id, { version: written, ...(drain && { drain }) });
          return { drain: drain === true };
        }
        own.delete(id);
      }
      throw lostRaces(id);
    },
    async list(seenSince) {
      const found: { readonly name: string; readonly version: string; readonly beat: WorkerBeat }[] = [];
      for (let after = ''; ; ) {
        const page = await section.list('', after, pageSize);
        const now = clock.now();
        for (const text of page) {
          const stored = storedIn(text);
          found.push({ ...text, beat: { ...stored.beat, seenAt: seenAtOf(stored, text, now) } });
        }
        if (page.length < pageSize) break;
        after = page.at(-1)!.name;
      }
      const newest = Math.max(...found.map(({ beat }) => beat.seenAt));
      const isForgotten = ({ seenAt }: WorkerBeat): boolean => seenAt < newest - forgetWorkerMs;
      for (const { name, version, beat } of found) if (isForgotten(beat)) await section.remove(name, version);
      return found
        .map(({ beat }) => beat)
        .filter((beat) => beat.seenAt >= seenSince && !isForgotten(beat))
        .sort((a, b) => a.startedAt - b.startedAt);
    },
    async remove(id) {
      own.delete(id);
      await section.remove(id);
    },
    async drain(id) {
      for (let tries = 0; tries < mostTries; tries++) {
        const found = await section.read(id);
        if (!found) return false;
        const stored = storedIn(found);
        if (stored.drain) return true;
        const lagMs = stored.lagMs + (found.agoMs ?? 0);
        const text = JSON.stringify({ ...stored, lagMs, drain: true } satisfies StoredBeat);
        if ((await section.write(id, text, found.version, endOf(stored.beat.seenAt))) !== null) return true;
      }
      throw lostRaces(id);
    },
  };
}

const lostRaces = (id: string) =>
  new LongshoreError('BACKEND', `Expected to write the heartbeat of worker ${id}, lost ${mostTries} races.`);
