/**
 * A large CSV file: one job cuts it into byte ranges and sends a batch with a child for each. Small jobs import them. When all have
 * ended, the last job writes what came of it.
 */

import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import * as z from 'zod';
import { defineJob, exponential, type Job, PermanentError } from '../../../core/index.ts';
import { csv, cut, type Parsed } from '../csv-chunks.ts';
import type { OrderRow, RefusedRow } from '../database.ts';
import { orderRow, problemOf } from '../order-row.ts';
import type { Services } from '../services.ts';

/** No folder in it: a payload must not be able to name any file of the machine. */
const fileName = z.string().regex(/^[\w-]+\.csv$/);
/** Part of the report's name. */
const importId = z.string().regex(/^[\w-]{1,100}$/);

const chunkPayload = z.object({
  importId,
  file: fileName,
  columns: z.array(z.string()),
  rows: z.int().min(1),
  firstLine: z.int().min(1),
  fromByte: z.int().min(0),
  toByte: z.int().min(1),
});
type ChunkPayload = z.infer<typeof chunkPayload>;

/** What a batch gives to the job that it calls; its name is that of the import. */
const reportPayload = z.object({ name: importId, total: z.int(), failed: z.int() });
type ReportPayload = z.infer<typeof reportPayload>;

export function importChunkJob({ db, files }: Services) {
  return defineJob({
    name: 'orders.import-chunk',
    queue: 'import',
    payload: chunkPayload,
    priority: 'low', // an import of a million rows must not delay anybody's invoice
    timeoutMs: 30_000,
    maxRetries: 10, // its rows are saved all or none, so it may be tried often
    retry: exponential({ baseMs: 1000, maxMs: 60_000 }),
    async handle({ importId, file, columns, fromByte, toByte, firstLine, ...chunk }, ctx) {
      const rows: OrderRow[] = [];
      const refused: RefusedRow[] = [];
      await pipeline(
        await files.read(file, { start: fromByte, end: toByte - 1 }),
        parse({ ...csv, columns }),
        async (parsed: AsyncIterable<Parsed<unknown>>) => {
          let line = firstLine;
          for await (const { record, info } of parsed) {
            const result = orderRow.safeParse(record);
            if (result.success) rows.push(result.data);
            else refused.push({ line, problem: problemOf(result.error) });
            line = firstLine + info.lines;
          }
        },
        { signal: ctx.signal },
      );
      const tenantId = ctx.context.tenantId ?? 'none';
      const totals = await db.saveBatch({ importId, tenantId, rows, refused });
      await ctx.progress(rows.length + refused.length, chunk.rows);
      return totals;
    },
  });
}

/** Of the refused rows; more help nobody. */
const mostProblems = 1_000;

export function importReportJob({ db, files }: Services) {
  return defineJob({
    name: 'orders.import-report',
    payload: reportPayload,
    timeoutMs: 60_000,
    async handle({ name, total, failed }) {
      const totals = await db.importTotals(name);
      const problems = await db.refusedRows(name, mostProblems);
      const report = { ...totals, chunks: total, failedChunks: failed };
      await files.write(
        `reports/import-${name}.json`,
        `${JSON.stringify({ ...report, problems }, null, 2)}\n`,
      );
      return report;
    },
  });
}

export function importOrdersJob(
  { files }: Services,
  importChunk: Job<ChunkPayload>,
  importReport: Job<ReportPayload>,
) {
  return defineJob({
    name: 'orders.import',
    queue: 'import',
    payload: z.object({ importId, file: fileName, chunkRows: z.int().min(1).default(500) }),
    maxRetries: 10, // each attempt goes on where the one before it was killed
    timeoutMs: 10 * 60_000,
    async handle({ importId, file, chunkRows }, ctx) {
      let chunks = 0;
      let rows = 0;
      async function* payloads(): AsyncGenerator<ChunkPayload> {
        for await (const chunk of cut(await files.read(file), chunkRows)) {
          rows += chunk.rows;
          await ctx.progress(rows, undefined, `${++chunks} chunks`);
          yield { importId, file, ...chunk };
        }
        if (chunks === 0) throw new PermanentError(`${file} has no row below its header.`);
      }
      try {
        // Killed half-way, the next attempt reads the file from its beginning, and sends only what was not sent.
        const options = { job: importChunk, onComplete: importReport, chunkSize: 10 };
        // The batch knows how many there are. What this attempt has read need not be all: nothing, where all were sent before.
        const { total } = await ctx.batch(importId, payloads(), options);
        ctx.log('file split', { file, chunks: total });
        return { chunks: total };
      } catch (error) {
        throw explained(file, error);
      }
    },
  });
}

/** A broken file does not mend itself: no retry, a person has to look. */
function explained(file: string, error: unknown): unknown {
  const { cause } = error as Error;
  if (cause instanceof PermanentError) return cause;
  if (!(cause instanceof CsvError)) return error;
  return new PermanentError(
    `${file}: ${cause.message}. What was sent before is imported. Mend the file and retry this dead letter to import the rest.`,
    { cause },
  );
}
