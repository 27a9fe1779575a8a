/** Retries or discards many dead letters, and receives the progress. */

import type { BulkProgress, BulkResult } from '../../../core/operations/types.ts';
import type { BulkRequest } from '../../../core/surfaces/dashboard/api.ts';
import { Problem, post, queryOf } from './client.ts';

type ReportLine = BulkProgress | BulkResult | { readonly code?: string; readonly detail: string };

/** Throws a `Problem`. Aborting `signal` also ends the action on the server, between two groups of letters. */
export async function runBulk(
  action: 'retry' | 'discard',
  request: BulkRequest,
  backend: string | undefined,
  onProgress: (progress: BulkProgress) => void,
  signal: AbortSignal,
): Promise<BulkResult> {
  const response = await post(`dead/${action}${queryOf({ backend })}`, request, signal);
  let rest = '';
  let result: BulkResult | null = null;
  function take(text: string): void {
    if (text.trim() === '') return;
    const found = JSON.parse(text) as ReportLine;
    if ('detail' in found) throw new Problem(500, found.code ?? '', found.detail);
    if ('ended' in found) result = found;
    onProgress(found);
  }
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw signal.aborted ? error : cutOff();
    });
    if (done) break;
    const lines = (rest + value).split('\n');
    rest = lines.pop()!;
    for (const text of lines) take(text);
  }
  take(rest);
  if (result === null) throw cutOff();
  return result;
}

const cutOff = (): Problem =>
  new Problem(
    0,
    'NETWORK',
    'The connection ended before the last report. The audit log tells how far it came.',
  );
