/** Maps the app's queues to queues of SQS. */

import { checkQueue } from '../../../core/base/checks.ts';
import { config, shown } from '../../../core/base/errors.ts';
import { priorities } from '../../../core/base/priority.ts';

/** By rank. `normal` is the queue itself. */
const laneNames = ['critical', 'high', 'normal', 'low'] as const;
export type LaneName = (typeof laneNames)[number];

export interface QueueOptions {
  /** URL by name. Either this or `queueUrl`. */
  readonly queues?: Readonly<Record<string, string>>;
  /** Prefix of every queue's name: `https://sqs.eu-central-1.amazonaws.com/123456789012/shop-`. */
  readonly queueUrl?: string;
  /** URLs of the dead-letter queues, by the name of their queue. @default the queue's URL with `-dlq` at its end */
  readonly deadLetterUrls?: Readonly<Record<string, string>>;
  /**
   * Queues whose jobs have different priorities, each with its lanes in addition to `normal`: `{ mail: ['high', 'low'] }`. A lane is a queue of
   * SQS with the lane's name as a suffix (`mail-high`) or with the given URL. All lanes share one dead-letter queue.
   */
  readonly lanes?: Readonly<
    Record<string, readonly LaneName[] | Readonly<Partial<Record<LaneName, string>>>>
  >;
}

export interface QueueAddress {
  readonly name: string;
  readonly lane: LaneName;
  readonly url: string;
  readonly deadLetterUrl: string;
  /** A FIFO queue: ordered per group, without delays per message. */
  readonly fifo: boolean;
}

export type Queues = ReturnType<typeof resolveQueues>;

export function resolveQueues({ queues, queueUrl, deadLetterUrls = {}, lanes = {} }: QueueOptions) {
  if ((queues === undefined) === (queueUrl === undefined)) {
    throw config(
      `sqs() expects either queues or queueUrl, got ${queues === undefined ? 'neither' : 'both'}. Use queues: { name: url }, or queueUrl: the prefix of every name.`,
    );
  }
  if (queueUrl !== undefined) checkUrl('queueUrl', queueUrl);
  const addresses = new Map<string, QueueAddress[]>();
  const urls = queues ?? {};
  for (const [option, named] of Object.entries({ deadLetterUrls, lanes })) {
    for (const name of Object.keys(named)) {
      if (queues && !Object.hasOwn(queues, name)) {
        throw config(`${option} names queue ${shown(name)}, which is not among queues.`);
      }
    }
  }

  function lanesOf(name: string): readonly QueueAddress[] {
    const known = addresses.get(name);
    if (known) return known;
    checkQueue(name);
    const url = queueUrl === undefined ? own(urls, name) : queueUrl + name;
    if (url === undefined) {
      throw config(
        `Expected queue "${name}" to be among those given to sqs(), which are ${Object.keys(urls).join(', ')}. Add its URL to queues.`,
      );
    }
    checkUrl(`the URL of queue "${name}"`, url);
    const fifo = url.endsWith('.fifo');
    const deadLetterUrl = own(deadLetterUrls, name) ?? (fifo ? `${url.slice(0, -5)}-dlq.fifo` : `${url}-dlq`);
    checkUrl(`the dead-letter URL of queue "${name}"`, deadLetterUrl);
    if (deadLetterUrl === url) throw config(`Queue "${name}" cannot be its own dead-letter queue.`);
    if (deadLetterUrl.endsWith('.fifo') !== fifo) {
      throw config(`Queue "${name}" and its dead-letter queue must both be FIFO queues, or neither.`);
    }
    const address: QueueAddress = { name, lane: 'normal', url, deadLetterUrl, fifo };
    const found = [address, ...besides(address)].sort(
      (a, b) => laneNames.indexOf(a.lane) - laneNames.indexOf(b.lane),
    );
    addresses.set(name, found);
    return found;
  }

  function besides(address: QueueAddress): QueueAddress[] {
    const given = own(lanes, address.name) ?? [];
    const base = address.fifo ? address.url.slice(0, -5) : address.url;
    const named: [LaneName, string][] = Array.isArray(given)
      ? given.map((lane) => [lane, `${base}-${lane}${address.fifo ? '.fifo' : ''}`])
      : (Object.entries(given) as [LaneName, string][]);
    return named.map(([lane, url]) => {
      if (!laneNames.includes(lane) || lane === 'normal') {
        throw config(
          `Expected the lanes of queue "${address.name}" to be of critical, high and low, got ${shown(lane)}.`,
        );
      }
      checkUrl(`the URL of lane "${lane}" of queue "${address.name}"`, url);
      return { ...address, lane, url };
    });
  }

  const of = (name: string): QueueAddress => lanesOf(name).find(({ lane }) => lane === 'normal')!;
  for (const name of [...Object.keys(urls), ...Object.keys(lanes)]) lanesOf(name);
  return {
    /** Throws `CONFIG` for a name without a URL. */
    of,
    /** All lanes of a queue by rank, including the queue itself. */
    lanesOf,
    /** Prefix of every name; `null` = each queue has its own URL. */
    prefix: queueUrl ?? null,
    /** All queues that are configured or were used. */
    all: () => [...addresses.keys()].map(of),
  };
}

const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

function checkUrl(what: string, url: unknown): void {
  if (typeof url === 'string' && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return;
  throw config(
    `Expected ${what} to be like https://sqs.eu-central-1.amazonaws.com/123456789012/mail, got ${shown(url)}.`,
  );
}

/**
 * SQS has no priorities. So a queue may have lanes: several queues of SQS, each for a range of priorities. Workers poll them by weight: urgent
 * lanes come first more often, and every lane comes first at times, so none starves.
 */
const weights: Readonly<Record<LaneName, number>> = { critical: 8, high: 4, normal: 2, low: 1 };

/** The lane of a message: its own, or the next existing one towards `normal`, which always exists. */
export function laneOf(lanes: readonly QueueAddress[], priority: number): QueueAddress {
  const { high, normal } = priorities;
  // 0 to 1, 2 to 4, 5 to 7, 8 to 9
  const name =
    priority < high ? 'critical' : priority < normal ? 'high' : priority < priorities.low ? 'normal' : 'low';
  const towards: readonly LaneName[] = name === 'critical' ? [name, 'high', 'normal'] : [name, 'normal'];
  return towards.flatMap((lane) => lanes.find((address) => address.lane === lane) ?? [])[0]!;
}

/** Smooth weighted round robin: in 15 rounds `low` is first once and `critical` eight times, evenly spread. */
export function createLaneOrder() {
  const credit = new Map<string, number>();
  return {
    /** The lanes of a queue in the order of this round. */
    next(lanes: readonly QueueAddress[]): QueueAddress[] {
      if (lanes.length === 1) return [...lanes];
      const total = lanes.reduce((sum, { lane }) => sum + weights[lane], 0);
      let first = lanes[0]!;
      for (const address of lanes) {
        credit.set(address.url, (credit.get(address.url) ?? 0) + weights[address.lane]);
        if (credit.get(address.url)! > credit.get(first.url)!) first = address;
      }
      credit.set(first.url, credit.get(first.url)! - total);
      return [first, ...lanes.filter((address) => address !== first)];
    },
  };
}

/** The queue for an ARN from Lambda; `null` = it is not a queue of this app. */
export function addressOfArn(queues: Queues, arn: string): QueueAddress | null {
  const [, , service, , account = '', name = ''] = arn.split(':');
  if (service !== 'sqs' || name === '') return null;
  const addresses = queues.all().flatMap((address) => queues.lanesOf(address.name));
  const found = addresses.find(({ url }) => isSame(endOf(url), account, name));
  if (found || queues.prefix === null) return found ?? null;
  const prefix = endOf(queues.prefix);
  const rest = name.startsWith(prefix.name) ? name.slice(prefix.name.length) : '';
  return rest !== '' && isSame(prefix, account, prefix.name) ? queues.of(rest) : null;
}

interface End {
  /** `null` if the URL has none, as with some emulators. */
  readonly account: string | null;
  readonly name: string;
}

function endOf(url: string): End {
  const parts = new URL(url).pathname.split('/');
  const account = parts.at(-2) ?? '';
  return { account: /^\d{12}$/.test(account) ? account : null, name: parts.at(-1) ?? '' };
}

const isSame = (end: End, account: string, name: string): boolean =>
  end.name === name && (end.account === null || end.account === account);
