/** What a command shows of several backends at once. */

import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { explain } from '../errors.ts';
import { type Column, plain, type Ui } from '../output/ui.ts';

export interface OfBackend {
  /** The name that the config exports it by, where there are several. */
  readonly backend?: string;
}

/** A backend that could not be asked. */
export interface Failure {
  readonly backend: string;
  readonly code: string;
  readonly message: string;
}

/** What `ask` finds on each, in their order, and those that did not answer. A single one that fails throws. */
export async function ofEach<T>(
  clients: readonly Client[],
  ask: (client: Client) => Promise<readonly T[]>,
): Promise<{ readonly rows: readonly (T & OfBackend)[]; readonly failures: readonly Failure[] }> {
  const answers = await Promise.allSettled(clients.map(async (client) => ask(client)));
  const failures: Failure[] = [];
  const rows = answers.flatMap((answer, i): (T & OfBackend)[] => {
    const { name } = clients[i]!;
    if (answer.status === 'fulfilled')
      return answer.value.map((row) => ({ ...(clients.length > 1 && { backend: name! }), ...row }));
    if (clients.length === 1) throw answer.reason;
    failures.push(failureOf(name!, answer.reason));
    return [];
  });
  return { rows, failures };
}

export function failureOf(backend: string, error: unknown): Failure {
  const { code, message } = explain(error);
  return { backend, code, message };
}

/** Above or below what the others have said; empty where all have answered. */
export const failuresText = (failures: readonly Failure[], ui: Pick<Ui, 'paint'>): string =>
  failures
    .map(
      ({ backend, code, message }) =>
        `${ui.paint('red', `${backend} does not answer`)}: ${code}: ${plain(message)}`,
    )
    .join('\n');

export const withBackend = <Row extends OfBackend>(
  columns: readonly Column<Row>[],
  several: boolean,
): readonly Column<Row>[] =>
  several ? [{ title: 'backend', value: ({ backend = '' }) => backend }, ...columns] : columns;
