import { existsSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { config } from '../../../core/base/errors.ts';
import { hint } from '../../../core/base/nearest.ts';
import type { QueueStats } from '../../../core/contract/admin.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';
import type { KeyRing } from '../../../core/envelope/signing.ts';
import { signingFromEnv } from '../../../core/envelope/signing-keys.ts';
import { healthyWithinMs } from '../../../core/kit/worker-state.ts';
import { movable } from '../../move/contract.ts';
import { exclusive, isSame } from '../../move/exclusive.ts';
import { type Moved, move as moveBacklog } from '../../move/move.ts';
import type { SomeStores } from '../../move/verdicts.ts';
import { loadConfig, only } from '../config/config.ts';
import { flag } from '../config/flags.ts';
import { name } from '../config/values.ts';
import { defineCommand, type Input, type Result } from '../definition.ts';
import { CliError, longshoreCode, messageOf, notFound, unsupported, usage } from '../errors.ts';
import { withProgress } from '../output/progress.ts';
import { count, span } from '../output/ui.ts';
import { untilStopped } from './until-stopped.ts';

/** Opens an address, by its scheme. */
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
/** Schemes of clouds. These need an SDK and settings, so an address is not enough. */
const clouds = ['sqs', 'servicebus', 'https', 'http', 'sb', 'amqps', 'amqp'];

const addressText =
  '`config`, the path of another longshore.config.ts, sqlite:<path>, postgres://…, redis://… or beanstalk://…';

interface Named {
  /** Equal for two spellings of the same address. */
  readonly address: string;
  open(): Promise<QueueBackend>;
  /** The store beside the backend, if there is one. */
  readonly beside?: () => Promise<Partial<Stores> | undefined>;
}

/** Opens nothing. Throws `USAGE` if the text cannot name a backend. */
function backendAt(input: Pick<Input, 'io' | 'session'>, flag: string, text: string): Named {
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
      // A config with one backend has one store.
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
  // SQLite would create a missing file, and the source would be empty.
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

export const move = defineCommand({
  path: 'move',
  summary: 'drain a backlog from one backend into another',
  about: `Moves ready and delayed jobs and dead letters, with their ids, attempts, priorities, times and history, and with unchanged envelopes. Completed jobs stay, and running jobs stay until they end. A backend is ${addressText}. You can kill the move and start it again: no job is lost, and on sqlite, postgres and redis none runs twice. A broker may get some jobs twice. It refuses to move while a batch, a pause or a schedule made at run time would be left behind. See docs/operations.md.`,
  flags: {
    from: flag('--from <backend>', 'where the jobs are', String),
    to: flag('--to <backend>', 'where they go', String),
    queue: flag('--queue <name>', 'only this queue', name),
  },
  examples: [
    'longshore move --from sqlite:.longshore/jobs.db --to postgres://localhost/app',
    'longshore move --from config --to ./longshore.config.redis.ts --queue mail --json',
  ],
  exits: {
    1: 'failed, or some jobs had to stay: see the message or the counts',
    3: 'the queue that was asked for is not at the source',
  },
  async run(input) {
    const { flags, io } = input;
    const { from, to } = flags;
    if (from === undefined || to === undefined) {
      const missing = from === undefined ? '--from' : '--to';
      throw usage(`Expected ${missing}, got none. It is ${addressText}.`);
    }
    const [origin, goal] = [backendAt(input, '--from', from), backendAt(input, '--to', to)];
    if (origin.address === goal.address) throw same();
    const opened: { close?(): Promise<void> }[] = [];
    try {
      const backends: QueueBackend[] = [];
      const stores: SomeStores[] = [];
      for (const side of [origin, goal]) {
        const backend = await side.open();
        opened.push(backend);
        backends.push(backend);
        const beside = await side.beside?.();
        if (beside) opened.push(beside);
        stores.push({ ...backend.stores, ...beside });
      }
      const [source, target] = backends as [QueueBackend, QueueBackend];
      if (await isSame(source, target, io.clock)) throw same();
      return await moveAlone(input, source, target, stores as [SomeStores, SomeStores]);
    } finally {
      await Promise.all(opened.map((one) => one.close?.()));
    }
  },
});

const same = () =>
  usage('Expected --from and --to to be two backends, got the same one twice. Correct one of them.');

async function moveAlone(
  input: Input,
  from: QueueBackend,
  to: QueueBackend,
  stores: readonly [from: SomeStores, to: SomeStores],
): Promise<Result> {
  const { io, note } = input;
  const only = input.flags.queue as string | undefined;
  const queues = await queuesOf(from, to, only);
  const keyRing = await keysOf(input);
  const unlock = await exclusive([from, to], io.clock, () =>
    note('Another move is at work here, or was killed a moment ago. Waiting for it.'),
  );
  if (!unlock) {
    throw new CliError('BUSY', 1, 'Another move uses one of these backends. Wait until it has ended.');
  }
  const drain = async (signal: AbortSignal): Promise<Result> => {
    await noteWorkers(input, from, queues);
    const total = sum(await statsOf(from, queues), ({ ready, delayed, dead }) => ready + delayed + dead);
    const moved = await withProgress(input, 'moving', total, (bar) =>
      moveBacklog({
        from,
        to,
        queues,
        stores,
        isPart: only !== undefined,
        clock: io.clock,
        keyRing,
        signal,
        onMoved: bar.add,
        onWaiting: (queue, longestMs) =>
          note(
            `Some jobs of ${queue} are taken at the source. Waiting up to ${span(longestMs)} for them to come back.`,
          ),
      }),
    ).catch((error) => {
      if (longshoreCode(error) === 'CONFLICT') throw error; // nothing was begun
      note(
        'The move was interrupted, and some jobs are held for it. Run the same command again to finish it.',
      );
      throw error;
    });
    return report(from, to, moved, await statsOf(from, queues), signal.aborted);
  };
  return untilStopped(input, drain).finally(unlock);
}

/** The keys of the app in the config, or of the environment if there is no config. Read only for jobs with steps. */
async function keysOf({ io, session }: Input): Promise<() => KeyRing> {
  try {
    session.configPath();
  } catch {
    let ring: KeyRing | null = null;
    return () => {
      ring ??= signingFromEnv(io.env, io.cwd, () => {});
      return ring;
    };
  }
  try {
    const { app } = await session.config();
    return app.keyRing;
  } catch (error) {
    return () => {
      throw config(
        `It remembers steps, and their keys are in a config that does not load. ${messageOf(error)}`,
      );
    };
  }
}

/** The queues of the source, and those of the target in which a move in the other direction still holds jobs. */
async function queuesOf(
  { admin, name: backend }: QueueBackend,
  { admin: goal }: QueueBackend,
  only: string | undefined,
): Promise<string[]> {
  if (!admin) {
    throw unsupported(`Backend "${backend}" cannot be moved from: it offers no administration.`);
  }
  const { transfer } = movable(goal === undefined ? {} : { admin: goal });
  const known = new Set((await admin.stats()).map(({ queue }) => queue));
  for (const { queue, leased } of transfer ? await goal!.stats() : [])
    if (leased > 0 && (await transfer!.held(queue, 1)).length > 0) known.add(queue);
  if (only === undefined) return [...known];
  if (!known.has(only)) throw notFound(`There is no queue "${only}" at the source.${hint(only, [...known])}`);
  return [only];
}

const statsOf = async ({ admin }: QueueBackend, queues: readonly string[]): Promise<QueueStats[]> =>
  (await Promise.all(queues.map((queue) => admin!.stats(queue)))).flat();

const sum = (all: readonly QueueStats[], of: (one: QueueStats) => number): number =>
  all.reduce((total, one) => total + of(one), 0);

async function noteWorkers(
  { io, note }: Input,
  from: QueueBackend,
  queues: readonly string[],
): Promise<void> {
  const seen = (await from.stores?.workers?.list(io.clock.now() - healthyWithinMs)) ?? [];
  const workers = seen.filter((worker) => worker.queues.some((queue) => queues.includes(queue)));
  if (workers.length === 0) return;
  const who = workers.map(({ host, pid }) => `${host}:${pid}`).join(', ');
  note(`${count(workers.length, 'worker')} may still run at the source (${who}). What they take runs there.`);
}

function report(
  from: QueueBackend,
  to: QueueBackend,
  moved: Moved,
  stats: readonly QueueStats[],
  stopped: boolean,
): Result {
  const left = {
    ready: sum(stats, ({ ready }) => ready),
    delayed: sum(stats, ({ delayed }) => delayed),
    running: sum(stats, ({ leased }) => leased),
    dead: sum(stats, ({ dead }) => dead),
  };
  const complete = Object.values(left).every((n) => n === 0) && !stopped;
  const { waiting, deadLeft: _, ...counts } = moved;
  const { known, reset, unsure, keys, steps, refused } = counts;
  const paused = stats.filter((one) => one.paused).map(({ queue }) => queue);
  const lines = [
    movedText(from, to, moved),
    known > 0 && `${known} of them were known there already, and are there once.`,
    reset > 0 && `${count(reset, 'job')} had attempts behind them: ${to.name} counts from 1 again.`,
    unsure > 0 &&
      `${count(unsure, 'job')} may be on ${to.name} twice: a move was killed with them in hand. Those with an idempotency key run once.`,
    keys > 0 && `${count(keys, 'idempotency key')} of effects that were done are known there too.`,
    steps > 0 && `${count(steps, 'job')} remember steps, which went along.`,
    ...refused.slice(0, mostShown).map(({ id, queue, error }) => `${id}  of ${queue} stays: ${error}`),
    refused.length > mostShown && `… and ${refused.length - mostShown} more stay. --json lists them all.`,
    paused.length > 0 && `Paused here and there: ${paused.join(', ')}. \`longshore resume\` ends that.`,
    stopped && 'Stopped on your signal. Run the same command again to go on.',
    !complete && !stopped && leftText(from.name, left, moved),
  ];
  return {
    data: { from: from.name, to: to.name, moved: waiting, ...counts, left, paused, complete },
    text: lines.filter((line) => line !== false).join('\n'),
    exit: complete ? 0 : 1,
  };
}

function movedText(from: QueueBackend, to: QueueBackend, { waiting, delayed, dead }: Moved): string {
  const jobs = `${count(waiting, 'job')}${delayed > 0 ? ` (${delayed} delayed)` : ''}`;
  const parts = [waiting > 0 && jobs, dead > 0 && count(dead, 'dead letter')].filter(
    (part) => part !== false,
  );
  return `${parts.join(' and ') || 'Nothing'} moved from ${from.name} to ${to.name}.`;
}

const mostShown = 10;

function leftText(
  name: string,
  { ready, delayed, running, dead }: Readonly<Record<'ready' | 'delayed' | 'running' | 'dead', number>>,
  { deadLeft }: Moved,
): string {
  const parts = [
    ready > 0 && `${ready} ready`,
    delayed > 0 && `${delayed} delayed`,
    running > 0 && `${running} running`,
    dead > 0 && `${dead} dead`,
  ].filter((part) => part !== false);
  const next =
    deadLeft > 0 && deadLeft === dead && ready + delayed + running === 0
      ? 'The target takes no dead letters: retry or discard them here.'
      : 'Run the same command again when they are ready or have ended.';
  return `Still on ${name}: ${parts.join(', ')}. ${next}`;
}
