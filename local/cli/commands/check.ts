import { hint } from '../../../core/base/nearest.ts';
import { type Abilities, abilitiesOf, type Unmet, unmetBy } from '../../../core/kernel/enqueue/abilities.ts';
import { isBackend } from '../../../core/kernel/enqueue/backends.ts';
import { knownAbilities } from '../../../core/kernel/enqueue/known-abilities.ts';
import { defineCommand } from '../definition.ts';
import { usage } from '../errors.ts';
import type { Session } from '../session.ts';

interface Row extends Unmet {
  readonly backend: string;
}

export const check = defineCommand({
  path: 'check',
  summary: 'list the features that the jobs and queues need and the backend lacks',
  about: `Checks the app only: connects to nothing, and needs no keys. connect(), lambda(), azure() and startLocal() make the same checks at the start. Without --backend it checks the backends of the config. --backend names one of them, or a kind that the app may move to: ${Object.keys(knownAbilities).join(', ')}, each with its usual store.`,
  examples: [
    'longshore check',
    'longshore check --backend sqs',
    'longshore check --backend servicebus --json',
  ],
  exits: { 0: 'nothing is missing', 1: 'a feature is missing, or the check failed' },
  async run({ session, ui }) {
    const { app } = await session.config();
    const asked = await backendsOf(session);
    const unmet = asked.flatMap(({ name, own, abilities }) =>
      unmetBy(app, abilities, own).map((one): Row => ({ backend: name, ...one })),
    );
    const backends = asked.map(({ name }) => name);
    const text =
      unmet.length === 0
        ? `${backends.join(', ')} can do all that the app asks for.`
        : ui.table(
            unmet,
            [
              { title: 'backend', value: (row) => row.backend },
              { title: 'of', value: (row) => row.of },
              { title: 'asks for', value: (row) => row.feature },
            ],
            { text: (row) => row.text },
          );
    return { data: { backends, unmet }, text, exit: unmet.length > 0 ? 1 : 0 };
  },
});

interface Asked {
  readonly name: string;
  /** The backend's name, if the app has several. Then only its jobs and queues are checked. */
  readonly own: string | undefined;
  readonly abilities: Abilities;
}

async function backendsOf(session: Session): Promise<Asked[]> {
  const { named } = session;
  const all = await session.backends();
  const here = isBackend(all) ? [] : Object.keys(all).filter((name) => all[name]);
  if (named !== undefined && !here.includes(named)) {
    const kinds = Object.keys(knownAbilities);
    if (!Object.hasOwn(knownAbilities, named))
      throw usage(
        `Expected --backend to be one of ${[...here, ...kinds].join(', ')}, got "${named}".${hint(named, [...here, ...kinds])}`,
      );
    const kind = knownAbilities[named as keyof typeof knownAbilities];
    return [{ name: named, own: undefined, abilities: { name: named, ...kind } }];
  }
  const clients = isBackend(all)
    ? [await session.keyless()]
    : (await session.keylessClients()).filter(({ name }) => named === undefined || name === named);
  return clients.map((client) => ({
    name: client.name ?? client.backend.name,
    own: client.name,
    abilities: abilitiesOf(client),
  }));
}
