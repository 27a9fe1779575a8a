/** The dashboard of several backends. */

import { expect, it } from 'vitest';
import { connect, startWorker } from '../../../core/index.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { createDashboard } from '../../../core/surfaces/dashboard/index.ts';
import { createBench } from './kit.ts';

it('shows dead letters, their jobs, limits and what is stopped of all of them', async () => {
  const { app, backends, clock, thumb, mail } = createBench();
  const client = connect(app, backends);
  const { id } = await client.enqueue(thumb, { n: -1 });
  await client.enqueue(mail, { n: -1 });
  await (await startWorker(app, { backend: backends, signals: [], untilIdle: true })).done;
  clock.advance(1);
  const operator = createOperator(client, { actor: 'ann', from: 'desk' });
  await operator.jobs.pause('thumb');
  const dashboard = createDashboard(client, { authorize: () => ({ actor: 'ann', role: 'reader' }) });
  const get = async (path: string) =>
    (await dashboard(new Request(`https://jobs.example/api/${path}`))).json() as Promise<never>;
  const { letters } = (await get('dead')) as { letters: { job: string }[] };
  expect(letters.map(({ job }) => job).toSorted()).toEqual(['mail', 'thumb']);
  expect(await get(`dead/${id}`)).toMatchObject({ letter: { job: 'thumb' } });
  expect(await get(`jobs/${id}`)).toMatchObject({ record: { job: 'thumb' }, dead: true });
  const stopped = [{ job: 'thumb', state: 'paused' }];
  expect(await get('stopped')).toMatchObject({ rows: stopped });
  expect(await get('overview')).toMatchObject({ stopped });
  expect(await get('limits')).toMatchObject({ limits: [{ key: 'pause:thumb' }] });
  dashboard.close();
});
