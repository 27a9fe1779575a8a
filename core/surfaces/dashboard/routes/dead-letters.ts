import { latestMs } from '../../../base/clock.ts';
import { shown } from '../../../base/errors.ts';
import { eachOf } from '../../../kernel/enqueue/backends.ts';
import { reasons } from '../../../kit/records/partitions.ts';
import type {
  DeadLetterFilter,
  DeadLetterSelection,
  EditOptions,
  Operator,
  RetryOptions,
} from '../../../operations/types.ts';
import { ndjson } from '../answer/responses.ts';
import type { DeadLetterView, Done } from '../api.ts';
import type { Call, Endpoint, Run } from '../call.ts';
import {
  anything,
  flag,
  integer,
  integerMember,
  membersOf,
  missing,
  moment,
  noAdmin,
  numberMember,
  oneOf,
  pageQuery,
  queryOf,
  sentPayload,
  text,
  textMember,
  unavailable,
  wholeQuery,
  wrong,
} from './query.ts';

/** Parses a selection of dead letters, from a query or a body. */
const reason = oneOf(reasons);

const members = <Text, Reason, Moment>(asText: Text, asReason: Reason, asMoment: Moment) => ({
  queue: asText,
  job: asText,
  reason: asReason,
  tenantId: asText,
  error: asText,
  fingerprint: asText,
  diedFrom: asMoment,
  diedBefore: asMoment,
});

export const filterQuery = members(text, reason, moment);

const filterMembers = members(
  textMember,
  (given: unknown, name: string) => reason(textMember(given, name), name),
  integerMember(0, latestMs),
);

export const filterIn = (value: unknown): DeadLetterFilter => membersOf(value, 'filter', filterMembers);

const mostIds = 10_000;

export function idsIn(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > mostIds)
    throw wrong(
      `ids to be a list of 1 to ${mostIds} ids, got ${Array.isArray(value) ? `${value.length} of them` : shown(value)}. Use a filter for more.`,
    );
  return value.map((id) => textMember(id, 'each of ids'));
}

const look =
  (act: (operator: Operator, call: Call) => Promise<object>): Run =>
  async (endpoint, call) => {
    const { client } = endpoint;
    if (!eachOf(client).some(({ backend }) => backend.admin)) return noAdmin(client.backend.name);
    return act(await endpoint.operatorFor(call.visitor), call);
  };

export const listDeadLetters: Run = look(({ deadLetters }, { url }) => {
  const {
    max = 50,
    after,
    ...filter
  } = queryOf(url, {
    ...filterQuery,
    ...pageQuery,
  });
  return deadLetters.page(filter, { max, ...(after !== undefined && { after }) });
});

export const groupDeadLetters: Run = look(({ deadLetters }, { url }) => {
  const { max, ...filter } = queryOf(url, { ...filterQuery, max: integer(1, 100_000) });
  return deadLetters.groups(filter, max);
});

export const showDeadLetter: Run = look(async ({ deadLetters }, { url, parameter }) => {
  const asked = queryOf(url, wholeQuery);
  const found = await deadLetters.show(parameter);
  if (!found) throw missing('dead letter', parameter);
  const payload = found.payload
    ? sentPayload(found.payload, asked)
    : unavailable('It could not be verified or loaded, so it is not shown.');
  return { ...found, payload } satisfies DeadLetterView;
});

const expiresInMs = integerMember(1, latestMs);
const diedAt = numberMember(0, latestMs);
const bulkMembers = {
  ids: idsIn,
  filter: filterIn,
  dryRun: flag,
  limit: integerMember(1, 100_000_000),
};

export const retryDeadLetters: Run = async (endpoint, call) => {
  const given = membersOf(call.body, 'the body', {
    ...bulkMembers,
    perSecond: numberMember(0.01, 100_000),
    stopAbovePercent: numberMember(0, 100),
    expiresInMs,
  });
  return bulk(endpoint, call, given, ({ deadLetters }, selection, options) =>
    deadLetters.retry(selection, options),
  );
};

export const discardDeadLetters: Run = async (endpoint, call) => {
  const given = membersOf(call.body, 'the body', bulkMembers);
  return bulk(endpoint, call, given, ({ deadLetters }, selection, options) =>
    deadLetters.discard(selection, options),
  );
};

type Given = RetryOptions & { readonly [Name in 'ids' | 'filter']?: unknown };

async function bulk(
  endpoint: Endpoint,
  { request, visitor }: Call,
  { ids, filter, ...options }: Given,
  act: (operator: Operator, selection: DeadLetterSelection, options: RetryOptions) => Promise<object>,
): Promise<Response> {
  if ((ids === undefined) === (filter === undefined))
    throw wrong(
      `either ids or a filter, got ${ids === undefined ? 'neither' : 'both'}. An empty filter means all.`,
    );
  const selection = (ids === undefined ? { filter } : { ids }) as DeadLetterSelection;
  const operator = await endpoint.operatorFor(visitor);
  return ndjson(request, (signal, onProgress) =>
    act(operator, selection, { ...options, signal, onProgress }),
  );
}

export const editDeadLetter: Run = async (endpoint, { body, visitor, parameter }) => {
  const given = membersOf(body, 'the body', { payload: anything, expiresInMs, diedAt, dryRun: flag });
  if (!('payload' in given)) throw wrong('the whole new payload, got none.');
  const { deadLetters } = await endpoint.operatorFor(visitor);
  await deadLetters.edit(parameter, given as EditOptions);
  const message = given.dryRun
    ? 'The payload is valid. Nothing was changed.'
    : 'Saved: the job is ready again, with this payload.';
  return { message } satisfies Done;
};
