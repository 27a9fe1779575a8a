/** A database with an outbox in memory, for worlds without Postgres. */

import type { Clock } from '../../../core/base/clock.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import type { OutboxSource } from '../../../local/outbox/outbox.ts';
import type { OutboxRow, OutboxTable } from '../../../local/outbox/table.ts';

interface Row extends OutboxRow {
  readonly id: string;
  readonly queue: string;
}

const waiting = ({ refused }: Row): boolean => refused === null;

export function outboxSource(clock: Clock): OutboxSource {
  let rows: Row[] = [];
  let isMoving = false;
  let wakes: (() => void)[] = [];
  const wake = () => {
    for (const one of wakes) one();
    wakes = [];
  };

  const table: OutboxTable = {
    async write(_, messages) {
      for (const { id, text } of messages)
        rows.push({ id, queue: JSON.parse(text).queue, text, writtenAt: clock.now(), refused: null });
      wake();
    },
    async move(_, most, _withinMs, send, ids) {
      if (isMoving) return 'busy';
      const open = rows.filter(waiting);
      const first = ids === undefined ? open : open.filter(({ id }) => ids.includes(id));
      const some = [...first, ...open.filter((row) => !first.includes(row))].slice(0, most);
      if (first.length === 0) return 'empty';
      isMoving = true;
      try {
        const fates = await send(some.map(({ text }) => text));
        const fateOf = new Map(some.map((row, i) => [row, fates[i]!]));
        rows = rows.flatMap((row) => {
          const fate = fateOf.get(row);
          if (fate?.state === 'sent') return [];
          if (fate?.state !== 'refused') return [row];
          const { code, message } = fate.error;
          return [{ ...row, refused: { at: clock.now(), error: `${code}: ${message}` } }];
        });
      } finally {
        isMoving = false;
      }
      return 'moved';
    },
    watch() {
      const changed = new Promise<void>((resolve) => wakes.push(resolve));
      return (signal) => {
        signal.addEventListener('abort', wake);
        return changed;
      };
    },
    find: async (_, id) => rows.find((row) => row.id === id) ?? null,
    async backlog() {
      const open = rows.filter(waiting);
      const oldestMs = open.length === 0 ? null : clock.now() - open[0]!.writtenAt;
      return { waiting: open.length, oldestMs, refused: rows.length - open.length };
    },
    refused: async (_, queue) =>
      rows.flatMap(({ id, queue: own, text, refused }) =>
        refused && (queue === null || queue === own)
          ? [{ id, queue: own, text, error: refused.error, refusedAt: refused.at }]
          : [],
      ),
    async retry(_, ids) {
      const found = rows.filter((row) => !waiting(row) && ids.includes(row.id));
      rows = [
        ...rows.filter((row) => !found.includes(row)),
        ...found.map((row) => ({ ...row, refused: null })),
      ];
      wake();
      return found.length;
    },
    async discard(_, ids) {
      const left = rows.filter((row) => waiting(row) || !ids.includes(row.id));
      const count = rows.length - left.length;
      rows = left;
      return count;
    },
  };
  return {
    ...memory({ clock }),
    outbox: table,
    now: async () => clock.now(),
    migrate: async () => ({ from: 1, to: 1 }),
  };
}
