/** Values that the files of several platforms share: commands, times, and the environment variables of a backend. */

import type { Backend, Choices } from './choices.ts';
import type { Project } from './project.ts';

/** The port of a worker in a container. */
export const metricsPort = 9464;

/** How long a supervisor waits before it kills: `drainMs` (10 s), 2 s in which a worker releases its jobs, and 3 s more. */
export const stopSeconds = 15;

/** Runs Longshore without npm, which does not hand SIGTERM on. */
export const longshoreOf = ({ main, has }: Project): readonly string[] => [
  'node',
  ...(has('tsx') ? ['--import', 'tsx'] : []),
  main,
];

export const workerOf = (project: Project, port: string = `${metricsPort}`): readonly string[] => [
  ...longshoreOf(project),
  ...['work', '--log', 'json', '--metrics-port', port],
];

export interface Variable {
  readonly name: string;
  readonly example: string;
  /** In the network of compose.yaml; without it, it comes from the environment of `docker compose`. */
  readonly inCompose?: string;
}

export const variablesOf = ({ backend, platform }: Choices): readonly Variable[] => [
  ...variables[backend],
  ...(backend === 'beanstalkd' && hasManyHosts(platform) ? variables.postgres : []),
];

/** Whether a file of one machine cannot be the store of all workers. */
export const hasManyHosts = (platform: Choices['platform']): boolean => platform === 'kubernetes';

/** Whether something restarts its workers and asks for their health. */
export const isSupervised = (platform: Choices['platform']): boolean =>
  ['docker', 'kubernetes', 'systemd', 'supervisord'].includes(platform);

/** Whether one of its workers is for the queue `urgent` alone. */
export const hasUrgentQueue = (platform: Choices['platform']): boolean =>
  platform === 'systemd' || platform === 'supervisord';

/** Whether SQLite keeps jobs or the state beside them in a file. */
export const keepsFile = ({ backend, platform }: Choices): boolean =>
  backend === 'sqlite' || (backend === 'beanstalkd' && !hasManyHosts(platform));

const variables: Readonly<Record<Backend, readonly Variable[]>> = {
  sqlite: [],
  postgres: [
    {
      name: 'DATABASE_URL',
      example: 'postgres://user:password@db.example.com:5432/shop',
      inCompose: `postgres://postgres:\${POSTGRES_PASSWORD:-postgres}@postgres:5432/postgres`,
    },
  ],
  redis: [
    {
      name: 'REDIS_URL',
      example: 'redis://user:password@redis.example.com:6379',
      inCompose: 'redis://redis:6379',
    },
  ],
  beanstalkd: [
    {
      name: 'BEANSTALKD_URL',
      example: 'beanstalk://beanstalkd.example.com:11300',
      inCompose: 'beanstalk://beanstalkd:11300',
    },
  ],
  sqs: [
    { name: 'AWS_REGION', example: 'eu-central-1' },
    { name: 'QUEUE_URL', example: 'https://sqs.eu-central-1.amazonaws.com/123456789012/shop-' },
    { name: 'TABLE', example: 'shop-jobs' },
  ],
  servicebus: [
    {
      name: 'SERVICEBUS_CONNECTION',
      example: 'Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=…;SharedAccessKey=…',
    },
    {
      name: 'STORAGE_CONNECTION',
      example: 'DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=…;EndpointSuffix=core.windows.net',
    },
  ],
};
