/** A CSV file as byte ranges of so many rows. It is read as a stream, so its size does not matter. */

import { pipeline, type Readable } from 'node:stream';
import { parse } from 'csv-parse';

export interface CsvChunk {
  readonly columns: string[];
  readonly rows: number;
  /** For people who look for a refused row. */
  readonly firstLine: number;
  readonly fromByte: number;
  /** The first byte that is no longer part of the chunk. */
  readonly toByte: number;
}

export interface Parsed<Row> {
  readonly record: Row;
  /** How far the parser is: bytes read and lines read, this record included. */
  readonly info: { readonly bytes: number; readonly lines: number };
}

/** `relax_column_count`: a row with too few columns is a refused row, not the end of the import. */
export const csv = { info: true, relax_column_count: true, skip_empty_lines: true } as const;

/** The same file gives the same chunks. Throws `CsvError` where the file is broken. */
export async function* cut(source: Readable, chunkRows: number): AsyncGenerator<CsvChunk> {
  const records: AsyncIterable<Parsed<string[]>> = pipeline(source, parse({ ...csv, bom: true }), () => {}); // the loop hears of errors
  let columns: string[] | null = null;
  let begin = { firstLine: 1, fromByte: 0 };
  let rows = 0;
  let toByte = 0;
  for await (const { record, info } of records) {
    toByte = info.bytes;
    if (columns && ++rows === chunkRows) {
      yield { columns, rows, ...begin, toByte };
      rows = 0;
    }
    columns ??= record;
    if (rows === 0) begin = { firstLine: info.lines + 1, fromByte: toByte };
  }
  if (columns && rows > 0) yield { columns, rows, ...begin, toByte };
}
