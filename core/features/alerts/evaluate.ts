/** Evaluates every rule once. One host at a time does it for all, and keeps the state in the key store. */

import { within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { KeyClaim } from '../../contract/store.ts';
import type {
  AlertFacts,
  AlertHost,
  AlertNotice,
  AlertReading,
  AlertRow,
  AlertRule,
  AlertStates,
  Alerts,
} from '../../kernel/app/alerts.ts';
import { peek } from '../../kit/records/peek.ts';
import { addressed, deliver } from './deliver.ts';
import { askMs, factsOf } from './facts.ts';
import { unknown } from './rules.ts';
import {
  type AlertState,
  byFunctions,
  keyOf,
  nextState,
  noState,
  type OpenAlert,
  queued,
  type Read,
} from './state.ts';

/** Hosts evaluate once a minute, each at its own second. */
const leastPauseMs = 50_000;
/** A clock that is further ahead must not stop the evaluations of other hosts. */
const mostAheadMs = 60_000;
/** Longer than an evaluation with sending can take. If a host dies, the others wait for this time. */
const holdMs = 30_000;
const keepMs = 30 * 86_400_000;

const stateKey = ({ name }: Alerts): string => `alerts:${name}`;

/** State of this process: its findings while the key store did not answer, and the rules reported as unavailable. */
interface Memory {
  state: AlertState;
  /** The reasons why some rules cannot be evaluated. */
  blind: ReadonlySet<string>;
}
const memories = new WeakMap<Alerts, Memory>();

/** Implements `alerts.evaluate()`. */
export async function evaluateAlerts(
  alerts: Alerts,
  client: AlertHost,
  where: 'worker' | 'function',
): Promise<void> {
  const memory = memories.get(alerts) ?? { state: noState, blind: new Set<string>() };
  memories.set(alerts, memory);
  const { keys } = client.stores;
  const now = await nowOf(client);
  const owner = client.app.newId();
  let claim: KeyClaim;
  try {
    claim = await inTime(client, keys.claim(stateKey(alerts), owner, client.app.clock.now() + holdMs));
  } catch (error) {
    await evaluateAlone(alerts, client, memory, factsOf(client, where === 'function', now));
    throw error;
  }
  if (claim.state !== 'claimed') return; // another host is evaluating
  const kept = stateOf(claim.value);
  const found = where === 'function' ? { ...kept, functionAt: now } : kept;
  const keep = (state: AlertState) =>
    inTime(
      client,
      keys.release(stateKey(alerts), owner, {
        value: JSON.stringify(state),
        keepUntil: client.app.clock.now() + keepMs,
      }),
    );
  if (now - found.at < leastPauseMs && found.at - now < mostAheadMs) {
    await keep(found);
    return;
  }
  const reads = await readAll(alerts.rules, client, factsOf(client, byFunctions(found, now), now));
  announceBlind(client, memory, reads);
  const next = nextState(merged(found, memory), reads, now, alerts.remindMs);
  // A host that was suspended for longer than its hold must not send notices that another host has sent.
  if (!(await inTime(client, keys.extend(stateKey(alerts), owner, client.app.clock.now() + holdMs)))) return;
  memory.state = noState;
  await keep(await tell(alerts, client, next, now));
}

/** Without the key store hosts cannot agree, so each reports that the backend is down. */
async function evaluateAlone(
  alerts: Alerts,
  client: AlertHost,
  memory: Memory,
  facts: AlertFacts,
): Promise<void> {
  const rules = alerts.rules.filter(({ needsNoStore }) => needsNoStore);
  const reads = await readAll(rules, client, facts);
  const next = nextState(memory.state, reads, facts.now, alerts.remindMs);
  memory.state = await tell(alerts, client, next, facts.now);
}

/** Adds the findings of this process to the shared state, except those that another host has seen end. */
function merged(found: AlertState, { state }: Memory): AlertState {
  const isOver = (key: string, since: number): boolean => (found.ended[key] ?? 0) >= since;
  const open = Object.entries(state.open).filter(([key, { since }]) => !isOver(key, since));
  const notices = state.notices.filter(({ alert, subject, since }) => !isOver(keyOf(alert, subject), since));
  return {
    ...found,
    open: { ...Object.fromEntries(open), ...found.open },
    notices: [...found.notices, ...notices],
  };
}

/** Emits new notices as events, and sends them to the targets with earlier ones that failed. Returns the state after that. */
function tell(
  alerts: Alerts,
  client: AlertHost,
  { state, notices }: ReturnType<typeof nextState>,
  now: number,
): Promise<AlertState> {
  announce(client, notices);
  const all = queued([...state.notices, ...addressed(alerts, notices)], now);
  return deliver(alerts, client, { ...state, notices: all }, now);
}

/** Implements `alerts.states()`. */
export async function alertStates(alerts: Alerts, client: AlertHost): Promise<AlertStates> {
  const { app, stores } = client;
  const text = await peek(stores.keys, app.clock, stateKey(alerts), app.newId(), keepMs);
  const state = text === 'busy' ? noState : stateOf(text);
  const { at, open } = state;
  const now = await nowOf(client);
  const reads = await readAll(alerts.rules, client, factsOf(client, byFunctions(state, now), now));
  const rows = reads.flatMap(({ rule, readings }) =>
    readings.map(({ holds, ...reading }) => {
      const { name: alert, severity, forMs, summary } = rule;
      const kept = open[keyOf(alert, reading.subject)];
      const state = holds === null ? 'unknown' : stateIn(holds, kept);
      return { alert, severity, forMs, summary, ...reading, state, since: kept?.since ?? null };
    }),
  );
  return { evaluatedAt: at === 0 ? null : at, alerts: rows };
}

/** An alert that ended since the last evaluation still fires: its end has not been sent yet. */
function stateIn(holds: boolean, kept: OpenAlert | undefined): AlertRow['state'] {
  if (kept && kept.firedAt !== null) return 'firing';
  return holds ? 'pending' : 'ok';
}

function readAll(rules: readonly AlertRule[], client: AlertHost, facts: AlertFacts): Promise<Read[]> {
  return Promise.all(rules.map(async (rule) => ({ rule, readings: await readOne(rule, client, facts) })));
}

/** Emitted when it begins: an alert that cannot be evaluated must not look like one that is fine. */
function announceBlind({ app }: AlertHost, memory: Memory, reads: readonly Read[]): void {
  const blind = reads.flatMap(({ rule, readings }) => {
    const reading = readings.find(({ holds }) => holds === null);
    return reading ? [{ rule: rule.name, text: reading.text }] : [];
  });
  for (const [message, group] of Map.groupBy(blind, ({ text }) => text)) {
    if (memory.blind.has(message)) continue;
    const alert = group.map(({ rule }) => rule).join(', ');
    app.events.emit({ type: 'alert.unavailable', alert, message });
  }
  memory.blind = new Set(blind.map(({ text }) => text));
}

async function readOne(
  rule: AlertRule,
  client: AlertHost,
  facts: AlertFacts,
): Promise<readonly AlertReading[]> {
  try {
    return await inTime(client, (async () => rule.read(facts))());
  } catch (error) {
    return [unknown('', error)];
  }
}

async function nowOf({ app, backend }: AlertHost): Promise<number> {
  const own = () => app.clock.now();
  const asked = backend.now?.();
  return asked ? within(app.clock, askMs, asked.catch(own), own) : own();
}

/** A text that cannot be read, or is of a later version, is replaced by an empty state. */
function stateOf(text: string | null): AlertState {
  try {
    return { ...noState, ...(JSON.parse(text ?? '{}') as Partial<AlertState>) };
  } catch {
    return noState;
  }
}

const inTime = <T>({ app }: AlertHost, work: Promise<T>): Promise<T> =>
  within(app.clock, askMs + 1_000, work, () => {
    throw new LongshoreError('TIMEOUT', `Expected an answer within ${askMs + 1_000} ms, got none.`);
  });

function announce({ app }: AlertHost, notices: readonly AlertNotice[]): void {
  for (const { alert, severity, state, subject, value, text, since, at } of notices) {
    const facts = { alert, severity, subject, value, message: text };
    if (state === 'firing') app.events.emit({ type: 'alert.firing', ...facts });
    else app.events.emit({ type: 'alert.resolved', ...facts, afterMs: at - since });
  }
}
