/** What a command shows of several backends at once. */

import type { Client } from '../../../core/enqueue/client.ts';
import type { Column } from '../output/ui.ts';

export interface OfBackend {
  /** The name that the config exports it by, where there are several. */
  readonly backend?: string;
}

/** What `ask` finds on each, one after the other in their order. */
export async function ofEach<T>(
  clients: readonly Client[],
  ask: (client: Client) => Promise<readonly T[]>,
): Promise<(T & OfBackend)[]> {
  const found = await Promise.all(clients.map((client) => ask(client)));
  if (clients.length === 1) return [...found[0]!] as (T & OfBackend)[];
  return found.flatMap((rows, i) => rows.map((row) => ({ backend: clients[i]!.name!, ...row })));
}

export const withBackend = <Row extends OfBackend>(
  columns: readonly Column<Row>[],
  several: boolean,
): readonly Column<Row>[] =>
  several ? [{ title: 'backend', value: ({ backend = '' }) => backend }, ...columns] : columns;
