/** Which queue of the app is which queue of SQS. */

import { config, shown } from '../../../core/errors.ts';
import { checkQueue } from '../../../core/job.ts';

export interface QueueOptions {
  /** URL by name. Either this or `queueUrl`. */
  readonly queues?: Readonly<Record<string, string>>;
  /** What stands before every queue's name: `https://sqs.eu-central-1.amazonaws.com/123456789012/shop-`. */
  readonly queueUrl?: string;
  /** URLs of the dead-letter queues, by the name of their queue. @default the queue's own, with `-dlq` at its end */
  readonly deadLetterUrls?: Readonly<Record<string, string>>;
}

export interface Place {
  readonly name: string;
  readonly url: string;
  readonly deadLetterUrl: string;
  /** Ordered per group, and without delays per message. */
  readonly fifo: boolean;
}

export interface Queues {
  /** Throws `CONFIG` for a name without a URL. */
  of(name: string): Place;
  /** What stands before every name; `null` where each queue has a URL of its own. */
  readonly prefix: string | null;
  /** Every queue that is configured or was used. */
  all(): Place[];
}

export function resolveQueues({ queues, queueUrl, deadLetterUrls = {} }: QueueOptions): Queues {
  if ((queues === undefined) === (queueUrl === undefined)) {
    throw config(
      `sqs() expects either queues or queueUrl, got ${queues === undefined ? 'neither' : 'both'}. Use queues: { name: url }, or queueUrl: what stands before every name.`,
    );
  }
  if (queueUrl !== undefined) checkUrl('queueUrl', queueUrl);
  const places = new Map<string, Place>();
  const urls = queues ?? {};
  for (const name of Object.keys(deadLetterUrls)) {
    if (queues && !Object.hasOwn(queues, name)) {
      throw config(`deadLetterUrls names queue ${shown(name)}, which is not among queues.`);
    }
  }

  function of(name: string): Place {
    const known = places.get(name);
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
      throw config(`SQS wants the dead-letter queue of a FIFO queue to be one too, and no other: "${name}".`);
    }
    const place = { name, url, deadLetterUrl, fifo };
    places.set(name, place);
    return place;
  }
  for (const name of Object.keys(urls)) of(name);
  return {
    of,
    prefix: queueUrl ?? null,
    all: () => [...places.values()],
  };
}

const own = (record: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

function checkUrl(what: string, url: unknown): void {
  if (typeof url === 'string' && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return;
  throw config(
    `Expected ${what} to be like https://sqs.eu-central-1.amazonaws.com/123456789012/mail, got ${shown(url)}.`,
  );
}
