import { redis } from '../../../local/backends/redis/index.ts';
import type { Opened, Place } from '../kit/contender.ts';
import { dayMs, ours } from '../kit/ours.ts';

export async function longshore({ url, schema, history = false }: Place): Promise<Opened> {
  const backend = redis({ url, prefix: schema, retention: { completedMs: history ? dayMs : 0 } });
  await backend.admin!.stats(); // connected
  return ours(backend);
}
