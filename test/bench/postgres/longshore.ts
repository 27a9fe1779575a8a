import { postgres } from '../../../local/backends/postgres/index.ts';
import type { Opened, Place } from '../kit/contender.ts';
import { dayMs, ours } from '../kit/ours.ts';

export async function longshore({ url, schema, history = false }: Place): Promise<Opened> {
  const backend = postgres({ url, schema, retention: { completedMs: history ? dayMs : 0 } });
  await backend.migrate!();
  return ours(backend);
}
