/** A large CSV file: one parent job cuts it into byte ranges, many small jobs import one range each. */

import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import * as z from 'zod';
import { defineJob, exponential, type Job, PermanentError } from '../../../core/index.ts';
import type { OrderRow, RefusedRow } from '../database.ts';
import { orderRow, problemOf } from '../order-row.ts';
import type { Services } from '../services.ts';

/** No folder in it: a payload must not be able to name any file of the machine. */
const fileName = z.string().regex(/^[\w-]+\.csv$/);

const chunkPayload = z.object({
  importId: z.string(),
  file: fileName,
  columns: z.array(z.string()),
  rows: z.int().min(1),
  /** For people who look for a refused row. */
  firstLine: z.int().min(1),
  fromByte: z.int().min(0),
  /** The first byte that is no longer part of the chunk. */
  toByte: z.int().min(1),
});
type Chunk = z.infer<typeof chunkPayload>;

interface Parsed<Row> {
  readonly record: Row;
  /** How far the parser is: bytes read and lines read, this record included. */
  readonly info: { readonly bytes: number; readonly lines: number };
}

/** `relax_column_count`: a row with too few columns is a refused row, not the end of the import. */
const csv = { info: true, relax_column_count: true, skip_empty_lines: true } as const;

export function importChunkJob({ db, files }: Services) {
  return defineJob({
    name: 'orders.import-chunk',
    queue: 'import',
    payload: chunkPayload,
    priority: 'low', // an import of a million rows must not delay anybody's invoice
    timeoutMs: 30_000,
    retry: exponential({ baseMs: 1000, maxMs: 60_000 }),
    // If the parent dies half-way and runs again, the chunks it had already sent are skipped.
    idempotencyKey: ({ importId, fromByte }) => `${importId}:${fromByte}`,
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

export function importOrdersJob({ files }: Services, importChunk: Job<Chunk>) {
  return defineJob({
    name: 'orders.import',
    queue: 'import',
    payload: z.object({ importId: z.string(), file: fileName, chunkRows: z.int().min(1).default(500) }),
    timeoutMs: 10 * 60_000,
    async handle({ importId, file, chunkRows }, ctx) {
      let chunks = 0;
      let total = 0;
      const send = async (chunk: Omit<Chunk, 'importId' | 'file'>) => {
        await ctx.enqueue(importChunk, { importId, file, ...chunk });
        total += chunk.rows;
        await ctx.progress(total, undefined, `${++chunks} chunks sent`);
      };
      const cut = async (parsed: AsyncIterable<Parsed<string[]>>) => {
        let columns: string[] | null = null;
        let begin = { firstLine: 1, fromByte: 0 };
        let rows = 0;
        let toByte = 0;
        for await (const { record, info } of parsed) {
          toByte = info.bytes;
          if (columns) rows++;
          if (columns && rows === chunkRows) {
            await send({ columns, rows, ...begin, toByte });
            rows = 0;
          }
          columns ??= record;
          if (rows === 0) begin = { firstLine: info.lines + 1, fromByte: toByte };
        }
        if (columns && rows > 0) await send({ columns, rows, ...begin, toByte });
      };
      try {
        const source = await files.read(file);
        await pipeline(source, parse({ ...csv, bom: true }), cut, { signal: ctx.signal });
      } catch (error) {
        // A broken file does not mend itself: no retry, a person has to look.
        if (error instanceof CsvError)
          throw new PermanentError(`${file}: ${error.message}`, { cause: error });
        throw error;
      }
      ctx.log('file split', { file, rows: total, chunks });
      return { rows: total, chunks };
    },
  });
}
