/** Limits for people: those in use, by key, and those that the app declares. */

import { config } from '../../base/errors.ts';
import type { UnavailableBackend } from '../../base/failure.ts';
import type { LimitState, LimitStore } from '../../contract/derived/limits.ts';
import { sharedKey } from '../../kernel/app/flow-control.ts';
import { declaredOn } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { forEach } from '../../kit/parallel.ts';
import { jobOf } from './holders.ts';

export interface LimitView {
  /** The name of the backend that declares or keeps it, if the app has several. */
  readonly backend?: string;
  /** The key in the store: `job:shop.sync:concurrency:c-7`. */
  readonly key: string;
  readonly of: 'job' | 'queue' | 'batch';
  /** The name of the job or queue, or the id of the batch. */
  readonly name: string;
  readonly kind: 'concurrency' | 'rate' | 'pause' | 'breaker';
  /** The result of the limit's key function; `open` or `failures` for a breaker. `null` = no key function, or see `perKey`. */
  readonly keyPart: string | null;
  /** Each key has its own slots. Without a `keyPart`: no key is in use. */
  readonly perKey: boolean;
  /** Number of slots: the smallest one in use, otherwise the one that this app declares; `null` = not known here. */
  readonly limit: number | null;
  /** The window of a rate, ms; `null` = it is not a rate, or not known here. */
  readonly perMs: number | null;
  /** Slots in use. */
  readonly used: number;
  /** Jobs that hold a slot, and when the slot expires: at most 20, those that end first. An empty `id` = a start that the store merely counts. */
  readonly holders: readonly { readonly id: string; readonly until: number }[];
  /** No job gets a slot until then (epoch ms), or until a reset; `null` = it is not held. */
  readonly heldUntil: number | 'reset' | null;
  /** Waiting jobs. A job that was cancelled is counted until its turn. */
  readonly waiting: number;
}

export interface LimitFilter {
  /** The beginning of the key. */
  readonly prefix?: string;
  /** The `next` of an earlier page. */
  readonly after?: string;
  /** @default 100 */
  readonly max?: number;
}

export interface LimitPage {
  /** Sorted by key. Unused limits come on top of `max`. */
  readonly limits: readonly LimitView[];
  /** Where the next page begins; `null` = there are no more. */
  readonly next: string | null;
  /** Backends whose limits are missing here; absent if all have answered. */
  readonly unavailable?: readonly UnavailableBackend[];
}

type Declared = Pick<LimitView, 'perKey' | 'limit' | 'perMs' | 'backend'>;

/** Throws `CONFIG` if no limits are kept. */
export function limitStoreOf({ stores, backend }: Pick<Client, 'stores' | 'backend'>): LimitStore {
  if (stores.limits) return stores.limits;
  throw config(
    `Backend "${backend.name}" keeps no limits. Give it a store that does, for example sqliteStore().`,
  );
}

/** @param sharing the backends of one store */
export async function listLimits(
  sharing: readonly Client[],
  filter: LimitFilter = {},
): Promise<Pick<LimitPage, 'limits' | 'next'>> {
  const { prefix = '', after = '', max = 100 } = filter;
  const declared = new Map(sharing.toReversed().flatMap((one) => [...declaredIn(one)]));
  const [client] = sharing;
  // Read one more, to know whether there is a next page and whether the last declared limit is in use.
  const states = await limitStoreOf(client!).list({ prefix, max: max + 1, ...(after !== '' && { after }) });
  const next = states.length > max ? states[max - 1]!.key : null;
  const used = states.slice(0, max).flatMap((state) => viewOf(state, declared) ?? []);
  const unused = [...declared].filter(
    ([key, { perKey }]) =>
      key.startsWith(prefix) &&
      key > after &&
      (next === null || key <= next) &&
      !states.some((state) => state.key === key || (perKey && state.key.startsWith(`${key}:`))),
  );
  const limits = [...used, ...unused.map(([key]) => viewOf(unusedState(key), declared)!)];
  return { limits: limits.sort((a, b) => (a.key < b.key ? -1 : 1)), next };
}

/** Keys that all jobs of a limit share. Limits with a key function have any number of keys. */
export const sharedKeys = (client: Client): string[] =>
  [...declaredIn(client)].filter(([, { perKey }]) => !perKey).map(([key]) => key);

/** The limits of these keys, including unused ones. Other texts are left out. */
export async function limitViews(client: Client, keys: readonly string[]): Promise<LimitView[]> {
  const limits = limitStoreOf(client);
  const declared = declaredIn(client);
  const views: (LimitView | null)[] = [];
  await forEach(keys.entries(), async ([i, key]) => {
    const [state] = await limits.list({ prefix: key, max: 1 });
    views[i] = viewOf(state?.key === key ? state : unusedState(key), declared);
  });
  return views.filter((view) => view !== null);
}

/** `null` = it is not the key of a limit. */
export const limitView = async (client: Client, key: string): Promise<LimitView | null> =>
  (await limitViews(client, [key]))[0] ?? null;

const unusedState = (key: string): LimitState => ({
  ...{ key, limit: null, used: 0, slots: [], heldUntil: null, waiting: 0 },
});

/** Declared limits by key, without the part from a payload. */
function declaredIn({ app, name }: Pick<Client, 'app' | 'name'>): ReadonlyMap<string, Declared> {
  const { jobs, rules } = declaredOn(app, name);
  const all = [...jobs, ...rules.map(([, rule]) => rule)].flatMap(({ limits }) => limits ?? []);
  return new Map(
    all.map((limit) => {
      const { slots, holdMs: perMs, keyOf } = limit;
      const backend = name !== undefined && { backend: name };
      return [sharedKey(limit), { perKey: keyOf !== null, limit: slots, perMs, ...backend }];
    }),
  );
}

/** Names contain no colon; the part from a payload may contain any. */
const pattern =
  /^(?:(?<of>job|queue|batch):(?<name>[^:]+):(?<kind>concurrency|rate)|(?<state>pause|breaker):(?<job>[^:]+))(?::(?<keyPart>.*))?$/s;

/** `null` = the key belongs to another release and is not known here. */
function viewOf(state: LimitState, declared: ReadonlyMap<string, Declared>): LimitView | null {
  const { key, limit, used, slots, heldUntil, waiting } = state;
  const found = pattern.exec(key)?.groups;
  if (!found) return null;
  const { of = 'job', name = found.job!, kind = found.state!, keyPart = null } = found;
  const known = declared.get(`${of}:${name}:${kind}`);
  return {
    ...(known?.backend !== undefined && { backend: known.backend }),
    key,
    of: of as LimitView['of'],
    name,
    kind: kind as LimitView['kind'],
    keyPart,
    perKey: known?.perKey ?? keyPart !== null,
    limit: found.state ? null : (limit ?? known?.limit ?? null),
    perMs: known?.perMs ?? null,
    used,
    holders: slots.map(({ holder, until }) => ({ id: jobOf(holder), until })),
    heldUntil: heldUntil === Infinity ? 'reset' : heldUntil,
    waiting,
  };
}
