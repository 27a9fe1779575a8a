import type { Session } from '../api.ts';
import type { Run } from '../call.ts';

export const showSession: Run = async (endpoint, { visitor }) => {
  const { client, faults, streams } = endpoint;
  const { app, backend } = client;
  return {
    actor: visitor.actor,
    role: visitor.role,
    token: endpoint.tokenFor(visitor),
    backend: client.name === undefined ? backend.name : `${client.name} (${backend.name})`,
    app: {
      jobs: [...app.jobs.keys()],
      queues: app.queues,
      schedules: app.schedules.map(({ name }) => name),
    },
    faults: faults?.list ?? [],
    streams: streams !== null,
  } satisfies Session;
};
