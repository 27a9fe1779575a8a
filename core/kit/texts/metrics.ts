/** Metrics over texts: one text per key, in the order of time. */

import { slices } from '../../base/slices.ts';
import type { MetricKey, MetricRow, MetricStep, MetricStore } from '../../contract/derived/metrics.ts';
import type { TextStore } from '../../contract/texts.ts';
import { isAskedFor, lastOfEach, withoutSpaces, withSpaces } from '../records/metric-rows.ts';
import { keepMs, stepMs } from '../records/metric-steps.ts';
import { momentText } from '../records/sortable.ts';
import { sectionOf } from './section.ts';

/** A roll-up removes rows earlier. Without roll-ups a row expires a day after its retention. */
const endOf = ({ step, at }: MetricRow): number => at + keepMs[step] + stepMs.day;
const pageSize = 1_000;

const beginOf = (step: MetricStep, at: number): string => `${step} ${momentText(at)}`;
/** The source comes last, because it may have spaces. */
const nameOf = ({ step, at, queue, job, source }: MetricKey): string =>
  `${beginOf(step, at)} ${withoutSpaces(queue)} ${withoutSpaces(job)} ${source}`;

function rowOf(name: string, body: string): MetricRow {
  const [step, at, queue, job, ...source] = name.split(' ');
  return {
    step: step as MetricStep,
    at: Number(at),
    queue: withSpaces(queue!),
    job: withSpaces(job!),
    source: source.join(' '),
    body,
  };
}

export function textMetrics(texts: TextStore): MetricStore {
  const section = sectionOf(texts, 'metric/');
  return {
    async write(rows) {
      for (const some of slices(lastOfEach(rows), pageSize))
        await section.writeAll(
          some.map((row) => ({ name: nameOf(row), text: row.body, endsAt: endOf(row) })),
        );
    },
    async read(filter) {
      const { step, from, to, queue, job } = filter;
      const containing = ` ${[queue, job].flatMap((name) => (name === undefined ? [] : withoutSpaces(name))).join(' ')} `;
      const range = {
        prefix: `${step} `,
        before: beginOf(step, to),
        ...(containing !== '  ' && { containing }),
        max: pageSize,
      };
      const rows: MetricRow[] = [];
      for (let after = beginOf(step, from); to > from; ) {
        const page = await section.range({ ...range, after });
        rows.push(
          ...page.map(({ name, text }) => rowOf(name, text)).filter((row) => isAskedFor(row, filter)),
        );
        if (page.length < pageSize) break;
        after = page.at(-1)!.name;
      }
      return rows;
    },
    async purge(step, before) {
      if (texts.expires) return 0;
      const past = await section.range({ prefix: `${step} `, before: beginOf(step, before), max: pageSize });
      if (past.length === 0) return 0;
      const gone = await section.removeAll(past.map(({ name }) => name));
      return gone.filter(Boolean).length;
    },
  };
}
