/** The two choices of a new project: where its workers run, and which backend holds its jobs. */

import { didYouMean } from '../../core/base/nearest.ts';
import { usage } from '../cli/errors.ts';

/** In the order of the question; the first is the default. */
export const platforms = {
  machine: 'any machine with Node',
  docker: 'containers: Dockerfile and compose.yaml',
  kubernetes: 'a cluster: Dockerfile, probes and a KEDA scaler',
  systemd: 'Linux servers: units and a deploy script',
  supervisord: 'the same without systemd',
  aws: 'Lambda functions behind SQS',
  azure: 'Azure Functions behind Service Bus',
} as const;

export const backends = {
  sqlite: 'one file; the workers of one machine share it',
  postgres: 'any number of machines; jobs in your transactions',
  redis: 'any number of machines, at high rates',
  beanstalkd: 'a small, quick server',
  sqs: 'Amazon SQS',
  servicebus: 'Azure Service Bus',
} as const;

export type Platform = keyof typeof platforms;
export type Backend = keyof typeof backends;

export interface Choices {
  readonly platform: Platform;
  readonly backend: Backend;
}

const servers: readonly Backend[] = ['postgres', 'redis', 'beanstalkd', 'sqs', 'servicebus'];
const all: readonly Backend[] = ['sqlite', ...servers];

/** Backends that work on a platform; the first is the default. */
const suitable: Readonly<Record<Platform, readonly Backend[]>> = {
  machine: all,
  docker: all,
  kubernetes: servers,
  systemd: all,
  supervisord: all,
  aws: ['sqs'],
  azure: ['servicebus'],
};

/** Resolves with one of the names. */
export type Ask = <Name extends string>(
  question: string,
  names: readonly [Name, ...Name[]],
  texts: Readonly<Record<Name, string>>,
) => Promise<Name>;

export interface Given {
  readonly platform?: string | undefined;
  readonly backend?: string | undefined;
  /** Takes the defaults instead of asking. */
  readonly yes?: boolean | undefined;
}

/** @param terminal `null` = there is none. Throws `USAGE` for an unknown name, or a backend that the platform cannot use. */
export async function choose(given: Given, terminal: Ask | null): Promise<Choices> {
  const isComplete = given.yes || (given.platform !== undefined && given.backend !== undefined);
  if (!isComplete && terminal === null)
    throw usage(
      'Expected --platform and --backend, or --yes for sqlite on any machine, because there is no terminal to ask on.',
    );
  const ask = isComplete ? null : terminal;
  const asked = given.backend === undefined ? null : known('--backend', given.backend, backends);
  const open = (Object.keys(platforms) as Platform[]).filter(
    (name) => asked === null || suitable[name].includes(asked),
  );
  const platform =
    given.platform === undefined
      ? await pick('Where do the workers run?', open, platforms, ask)
      : known('--platform', given.platform, platforms);
  const names = suitable[platform];
  if (asked === null)
    return { platform, backend: await pick('Which backend holds the jobs?', names, backends, ask) };
  if (names.includes(asked)) return { platform, backend: asked };
  throw usage(
    `Platform ${platform} does not work with backend ${asked}. Choose ${names.join(', ')}, or another platform.`,
  );
}

async function pick<Name extends string>(
  question: string,
  names: readonly Name[],
  texts: Readonly<Record<Name, string>>,
  ask: Ask | null,
): Promise<Name> {
  const [first, ...rest] = names as readonly [Name, ...Name[]];
  return ask === null || rest.length === 0 ? first : ask(question, [first, ...rest], texts);
}

function known<Name extends string>(
  flag: string,
  given: string,
  texts: Readonly<Record<Name, string>>,
): Name {
  if (Object.hasOwn(texts, given)) return given as Name;
  const names = Object.keys(texts);
  throw usage(
    `Expected ${flag} to be one of ${names.join(', ')}, got "${given}".${didYouMean(given, names)}`,
  );
}
