import { hint } from '../../../core/base/nearest.ts';
import { refusal, send } from '../../../core/features/alerts/deliver.ts';
import type { AlertRow } from '../../../core/kernel/app/alerts.ts';
import { flag } from '../config/flags.ts';
import { name } from '../config/values.ts';
import { defineCommand, type Input, someAway } from '../definition.ts';
import { notFound } from '../errors.ts';
import { type Column, type Style, span, type Under } from '../output/ui.ts';
import { listed } from './perform.ts';
import { backendColumn } from './running-jobs.ts';

const styles: Readonly<Record<AlertRow['state'], Style | null>> = {
  ok: 'green',
  pending: 'yellow',
  firing: 'red',
  unknown: 'dim',
};

const columnsAt = (now: number): readonly Column<AlertRow>[] => [
  { title: 'alert', value: (row) => row.alert },
  { title: 'severity', value: (row) => row.severity },
  { title: 'state', value: (row) => row.state, style: (row) => styles[row.state] },
  { title: 'for', align: 'right', value: ({ since }) => (since === null ? '' : span(now - since)) },
];

const under: Under<AlertRow> = { text: (row) => row.text, whole: true };

export const alerts = defineCommand({
  path: 'alerts',
  summary: 'show the current state of the alerts, or send a test message',
  about:
    'Evaluates the alerts without sending anything. Workers, schedule functions and `longshore tick` evaluate them once a minute; a condition that began since then is pending.',
  flags: {
    test: flag('--test <target>', 'send a test message to this target and nothing else', name),
  },
  examples: ['longshore alerts', 'longshore alerts --test slack', 'longshore alerts --json'],
  exits: {
    1: `${someAway}, or the target did not take the test message`,
    3: 'the app has no such target, or no alerts',
  },
  async run(input) {
    const { flags, session, ui, io } = input;
    if (flags.test !== undefined) return sendTest(input, flags.test);
    const { app } = await session.config();
    if (!app.alerts) throw notFound('The app has no alerts: give createApp() some of defineAlerts().');
    const operator = await session.operator();
    const found = await operator.alerts.list();
    const { evaluatedAt, alerts } = found;
    const now = io.clock.now();
    const columns = [...backendColumn(alerts), ...columnsAt(now)];
    const table = alerts.length > 0 ? ui.table(alerts, columns, under) : 'The alerts look at nothing here.';
    const last = evaluatedAt === null ? 'Not evaluated yet.' : `Evaluated ${span(now - evaluatedAt)} ago.`;
    return listed(input, { ...found }, `${table}\n${last}`);
  },
});

async function sendTest({ session, io }: Pick<Input, 'session' | 'io'>, wanted: string) {
  const { app } = await session.config();
  const targets = app.alerts?.to ?? [];
  const target = targets.find(({ name }) => name === wanted);
  if (!target) {
    const names = targets.map(({ name }) => name);
    throw notFound(`The alerts of the app have no target "${wanted}".${hint(wanted, names)}`);
  }
  const at = io.clock.now();
  const notice = {
    alert: 'Test',
    severity: target.severity ?? 'warning',
    state: 'test',
    subject: '',
    value: null,
    text: 'A test message of longshore alerts. Nothing is wrong.',
    since: at,
    at,
    reminder: false,
  } as const;
  try {
    await send(app, target, [notice]);
  } catch (error) {
    throw refusal(wanted, error);
  }
  return { data: { target: wanted, sent: true }, text: `${wanted} has taken the test message.` };
}
