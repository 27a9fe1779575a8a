import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import type { Opened, Place } from '../kit/contender.ts';
import { ours } from '../kit/ours.ts';

/** Without a store. */
export async function longshore({ url, schema }: Place): Promise<Opened> {
  const backend = beanstalkd({ url, prefix: `${schema}-` });
  await backend.admin!.stats(); // connected
  return ours(backend);
}
