import { toError } from '../base/failure.ts';
import { maxDepth } from '../base/json.ts';
import { masked } from '../base/mask.ts';
import type { DeadLetterPage } from '../contract/admin.ts';
import type { Envelope } from '../envelope/envelope.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { loadPayload } from '../kernel/enqueue/offload.ts';
import { nowOf } from '../kernel/enqueue/skew.ts';
import { pageOfDeadLetters, summaryOf } from '../kit/records/dead-letter-pages.ts';
import type { StoredPayload } from '../kit/records/payload.ts';
import { askEach } from '../routing/each.ts';
import { discard, retry } from './bulk.ts';
import { edit, editableOf, findDeadLetter, isExpired } from './edit.ts';
import { look, type Subject, withOwnEntries } from './operation.ts';
import {
  administered,
  envelopeIn,
  itemOf,
  matching,
  newestItems,
  queueOf,
  selectedIn,
  summariesOf,
} from './select.ts';
import type {
  DeadLetterDetail,
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterGroups,
  DeadLetterItem,
} from './types.ts';

const letter: Subject = {
  noun: 'dead letter',
  parameter: 'id',
  text: 'id of its job, or its first characters',
};

export const deadLetters = {
  page: look({
    summary: 'Dead letters, newest first',
    run: async (client, asked: DeadLetterFilter, page?: { max?: number; after?: string }) =>
      newestItems(client, asked, page),
  }),
  groups: look({
    summary: 'Dead letters, grouped by error',
    run: async (client, asked: DeadLetterFilter, max?: number) => groupsOf(client, asked, max),
  }),
  show: look({ summary: 'A dead letter with its payload and attempts', subject: letter, run: show }),
  retry: withOwnEntries({
    action: 'dead.retry',
    summary: 'Make dead letters ready again',
    perform: retry,
    lasts: true,
  }),
  edit: withOwnEntries({
    action: 'dead.edit',
    summary: 'Make a dead letter ready again with another payload',
    subject: letter,
    perform: edit,
  }),
  discard: withOwnEntries({
    action: 'dead.discard',
    summary: 'Remove dead letters for good',
    perform: discard,
    lasts: true,
  }),
};

const pageSize = 500;

type Group = { -readonly [Name in keyof DeadLetterGroup]: DeadLetterGroup[Name] } & { queues: string[] };

const longestMs = 10_000;

/**
 * Groups dead letters by their error.
 * @param max number of letters to read on each backend, newest first
 */
async function groupsOf(client: Client, filter: DeadLetterFilter, max = 5_000): Promise<DeadLetterGroups> {
  const read = async (one: Client) => {
    const groups = new Map<string, Group>();
    let looked = 0;
    let next: string | null = null;
    for await (const page of pagesOf(selectedIn(one), filter, max)) {
      for (const letter of matching(page.letters, filter)) add(groups, groupOf(letter));
      looked += page.letters.length;
      next = page.next;
    }
    return { groups, looked, next };
  };
  // More letters take longer.
  const mostMs = longestMs * Math.max(1, max / 5_000);
  const { answers, ...missed } = await askEach(administered(client), read, mostMs);
  const groups = new Map<string, Group>();
  for (const { answer } of answers) for (const group of answer.groups.values()) add(groups, group);
  const sorted = [...groups.values()].sort((a, b) => b.count - a.count || b.newestAt - a.newestAt);
  return {
    groups: sorted,
    looked: answers.reduce((sum, { answer }) => sum + answer.looked, 0),
    complete: answers.every(({ answer }) => answer.next === null),
    ...missed,
  };
}

async function* pagesOf(
  { app, deadLetters }: ReturnType<typeof selectedIn>,
  filter: DeadLetterFilter,
  max: number,
): AsyncGenerator<DeadLetterPage> {
  const query = queueOf(filter);
  if (!deadLetters.page && filter.tenantId !== undefined) {
    const listed = await deadLetters.list({ ...query, max: max + 1 });
    const letters = summariesOf(app, listed.slice(0, max));
    yield { letters, next: listed.length > max ? letters.at(-1)!.id : null };
    return;
  }
  // A broker that can only list reads the whole queue for each page.
  const size = deadLetters.page ? pageSize : max;
  let after: string | null = null;
  for (let left = max; left > 0; ) {
    const at: { after?: string } = after === null ? {} : { after };
    const page = await pageOfDeadLetters(deadLetters, { ...query, ...at, max: Math.min(size, left) });
    yield page;
    left -= Math.max(1, page.letters.length);
    after = page.next;
    if (after === null) return;
  }
}

function groupOf({ fingerprint, job, reason, error, queue, id, diedAt }: DeadLetterItem): Group {
  const times = { newestId: id, newestAt: diedAt, oldestAt: diedAt };
  return { fingerprint, job, reason, error, queues: [queue], count: 1, ...times };
}

function add(groups: Map<string, Group>, more: Group): void {
  const group = groups.get(more.fingerprint);
  if (!group) {
    groups.set(more.fingerprint, { ...more });
    return;
  }
  group.count += more.count;
  group.queues = [...new Set([...group.queues, ...more.queues])];
  group.oldestAt = Math.min(group.oldestAt, more.oldestAt);
  const { newestAt, newestId, error } = more;
  if (newestAt > group.newestAt) Object.assign(group, { newestAt, newestId, error });
}

/** One dead letter, with its payload, its attempts and whether it can be edited. */
async function show(asked: Client, id: string): Promise<DeadLetterDetail | null> {
  const on = await findDeadLetter(asked, id);
  if (!on) return null;
  const { client, letter: found } = on;
  const { app, stores } = client;
  const { body, reason } = found;
  const envelope = envelopeIn(app, body);
  const record = await stores.records.get(id);
  const tenantId = envelope?.context?.tenantId ?? null;
  return {
    letter: itemOf(summaryOf(found, tenantId)),
    envelope: envelope && factsOf(envelope, body),
    payload: envelope && (await payloadIn(client, envelope)),
    attempts: record?.attempts ?? [],
    editable: editable(() => editableOf(client, found)),
    expired: reason === 'expired' || (envelope !== null && isExpired(envelope, await nowOf(client))),
  };
}

function factsOf(envelope: Envelope, body: string): DeadLetterDetail['envelope'] {
  const { priority, maxRetries, idempotencyKey, issuedAt, expiresAt, context } = envelope;
  const kid = (JSON.parse(body) as { kid?: unknown }).kid;
  return {
    priority,
    maxRetries,
    idempotencyKey: idempotencyKey ?? null,
    issuedAt,
    expiresAt: expiresAt ?? null,
    context: context ?? null,
    kid: typeof kid === 'string' ? kid : null,
  };
}

async function payloadIn({ stores }: Client, envelope: Envelope): Promise<StoredPayload> {
  const { claim, payload = null } = envelope;
  if (!claim) return { value: masked(payload, maxDepth), offloaded: null };
  const offloaded = { key: claim.key, bytes: claim.bytes };
  // A payload that is missing in the payload store must not hide the rest.
  const loaded = await loadPayload(stores, envelope).catch(() => null);
  return { value: typeof loaded === 'symbol' ? null : masked(loaded, maxDepth), offloaded };
}

function editable(check: () => unknown): true | string {
  try {
    check();
    return true;
  } catch (error) {
    return toError(error).message;
  }
}
