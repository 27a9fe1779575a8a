/** Backends that the command line names: by an address, or by a config that exports one. */

import { existsSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { hint } from '../../../core/base/nearest.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';
import type { Input } from '../definition.ts';
import { CliError, longshoreCode, messageOf, usage } from '../errors.ts';
import { loadConfig, only } from './config.ts';

/** How an address opens, by what stands before its first colon. */
const openers: Readonly<Record<string, (address: string) => Promise<QueueBackend>>> = {
  sqlite: async (address) =>
    (await import('../../backends/sqlite/index.ts')).sqlite(address.slice('sqlite:'.length)),
  postgres: async (address) => (await import('../../backends/postgres/index.ts')).postgres(address),
  redis: async (address) => (await import('../../backends/redis/index.ts')).redis(address),
  beanstalk: async (address) => (await import('../../backends/beanstalkd/index.ts')).beanstalkd(address),
};
const sameAs: Readonly<Record<string, string>> = {
  postgresql: 'postgres',
  rediss: 'redis',
  beanstalkd: 'beanstalk',
};
/** Those that are opened with a cloud's SDK and settings, which an address cannot hold. */
const clouds = ['sqs', 'servicebus', 'https', 'http', 'sb', 'amqps', 'amqp'];

export const addressText =
  '`config`, the path of another longshore.config.ts, sqlite:<path>, postgres://…, redis://… or beanstalk://…';

export interface Named {
  /** Equal for two names of one queue, as far as names can tell. */
  readonly address: string;
  open(): Promise<QueueBackend>;
  /** The store beside it. Absent = there is none. */
  readonly beside?: () => Promise<Partial<Stores> | undefined>;
}

/** Throws `USAGE` for what can be no name of a backend; opens nothing. */
export function backendAt(input: Pick<Input, 'io' | 'session'>, flag: string, text: string): Named {
  const { io, session } = input;
  if (text === 'config') {
    return {
      address: `config ${session.configPath()}`,
      open: () => session.backend(),
      beside: () => session.store(),
    };
  }
  const [, scheme, rest = ''] = /^([a-z]+):(.*)$/s.exec(text) ?? [];
  if (scheme === undefined) {
    if (!/^\.[mc]?[jt]s$/.test(extname(text)))
      throw usage(`Expected ${flag} to be ${addressText}, got "${text}".`);
    const path = resolve(io.cwd, text);
    return {
      address: `config ${path}`,
      async open() {
        return only(await (await loadConfig(io, text)).backend(), undefined, text);
      },
      // A config of one backend names one store.
      beside: async () => (await loadConfig(io, text)).store() as Promise<Partial<Stores> | undefined>,
    };
  }
  if (clouds.includes(scheme)) {
    throw usage(
      `${flag} cannot name a cloud's queue by an address. Write a longshore.config.ts with its backend, and pass the path of that file.`,
    );
  }
  const name = sameAs[scheme] ?? scheme;
  const open = Object.hasOwn(openers, name) ? openers[name] : undefined;
  if (!open) {
    const known = Object.keys(openers);
    throw usage(`Expected ${flag} to be ${addressText}, got "${scheme}:…".${hint(scheme, known)}`);
  }
  if (name === 'sqlite') return fileAt(io.cwd, flag, rest, open);
  if (!rest.startsWith('//') || !URL.canParse(text)) {
    throw usage(`Expected ${flag} to be an address like ${name}://host/database, got another form.`);
  }
  const url = new URL(text);
  return {
    address: `${name} ${url.host}${url.pathname}${url.search}`,
    open: () => opened(flag, () => open(text)),
  };
}

function fileAt(
  cwd: string,
  flag: string,
  rest: string,
  open: (address: string) => Promise<QueueBackend>,
): Named {
  if (rest === '' || rest === ':memory:') {
    throw usage(`Expected ${flag} to be sqlite:<path of a file>, got "sqlite:${rest}".`);
  }
  const path = resolve(cwd, rest.replace(/^\/\//, ''));
  // A file that is not there would be made, and then found empty.
  if (flag === '--from' && !existsSync(path)) throw usage(`There is no file ${path}. Correct ${flag}.`);
  return {
    address: `sqlite ${path}`,
    open: () => opened(flag, () => open(`sqlite:${path}`)),
  };
}

async function opened(flag: string, open: () => Promise<QueueBackend>): Promise<QueueBackend> {
  try {
    return await open();
  } catch (cause) {
    if (longshoreCode(cause) !== null) throw cause;
    const missing = /Cannot find package '([^']+)'/.exec(messageOf(cause))?.[1];
    const remedy = missing ? ` Install it: npm install ${missing}` : '';
    throw new CliError('CONFIG', 1, `${flag} could not be opened: ${messageOf(cause)}.${remedy}`, { cause });
  }
}
