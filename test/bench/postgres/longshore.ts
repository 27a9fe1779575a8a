import { postgres } from '../../../local/backends/postgres/index.ts';
import type { Opened, Place } from '../kit/contender.ts';
import { dayMs, ours } from '../kit/ours.ts';

export const openPlace = ({ url, schema, history = false }: Place) =>
  postgres({ url, schema, retention: { completedMs: history ? dayMs : 0 } });

export async function longshore(place: Place): Promise<Opened> {
  const backend = openPlace(place);
  await backend.migrate!();
  return ours(backend);
}
