import { redis } from '../../../local/backends/redis/index.ts';
import type { Opened, Place } from '../kit/contender.ts';
import { dayMs, ours } from '../kit/ours.ts';

export const openPlace = ({ url, schema, history = false }: Place) =>
  redis({ url, prefix: schema, retention: { completedMs: history ? dayMs : 0 } });

export async function longshore(place: Place): Promise<Opened> {
  const backend = openPlace(place);
  await backend.admin!.stats(); // connected
  return ours(backend);
}
