/** What `longshore doctor` looks at in a namespace of Service Bus. */

import { toError } from '../../../core/base/failure.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import type { Check, DiagnosisRequest, Looked, Problem, Severity } from '../../../core/contract/diagnosis.ts';
import { CannotLook, checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import type { Administration } from './administration.ts';
import { lookFor, usesOf } from './check.ts';
import type { Connection } from './connection.ts';
import { type Advice, refusalsOf, type Use, warningsOf } from './settings.ts';

interface BusFacts {
  readonly connection: Connection;
  readonly uses: readonly Use[];
  /** An emulator has none. */
  administration(): Promise<Administration>;
  /** What is to be said of each queue's settings; `null` = they may not be looked at. */
  advice(): Promise<readonly (readonly Advice[] | null)[]>;
}

export function serviceBusDiagnosis(connection: Connection, { needsOf }: DiagnosisRequest): Check[] {
  const names = connection.queues.all().map(({ name }) => name);
  const uses = usesOf(connection, names, needsOf);
  const administration = onDemand(async () => {
    const found = await connection.administration();
    if (!found) throw new CannotLook('an emulator has no administration');
    return found;
  });
  const advice = onDemand(async () => {
    const namespace = await administration();
    return Promise.all(
      uses.map(async (use) => {
        const settings = await namespace.queue(use.entity);
        return settings ? [...refusalsOf(settings, use), ...warningsOf(settings, use)] : null;
      }),
    );
  });
  return checksOf(serviceBusChecks, { connection, uses, administration, advice });
}

const manage = 'the role Azure Service Bus Data Owner, or a key with the Manage right';

const advised = (id: Advice['id'], severity: Severity): Check<BusFacts> => ({
  id,
  severity,
  async look({ advice }): Promise<Looked> {
    const known = (await advice()).filter((one) => one !== null);
    if (known.length === 0)
      return { because: `the settings of queues may not be looked at: that takes ${manage}` };
    return known.flat().filter((one) => one.id === id);
  },
});

export const serviceBusChecks: readonly Check<BusFacts>[] = [
  {
    id: 'servicebus.queues',
    severity: 'error',
    async look({ connection, uses }) {
      const failed = await Promise.all(
        uses.map(async (use): Promise<Problem[]> => {
          const error = await lookFor(connection, use).then(() => null, toError);
          if (!error) return [];
          const remedy =
            'Create it, and grant the roles Azure Service Bus Data Receiver and Azure Service Bus Data Sender.';
          return [{ where: `queue "${use.entity}"`, text: error.message, remedy }];
        }),
      );
      return failed.flat();
    },
  },
  {
    id: 'servicebus.tier',
    severity: 'error',
    async look({ administration }) {
      const tier = await (await administration()).tier(); // Basic throws, with the remedy
      return tier === null ? { because: `the tier may not be looked at: that takes ${manage}` } : [];
    },
  },
  {
    id: 'servicebus.rights',
    severity: 'warning',
    async look({ advice, uses }) {
      const known = await advice();
      const unknown = uses.filter((_, i) => known[i] === null).map(({ entity }) => entity);
      if (unknown.length === 0) return [];
      return {
        where: 'the key or identity of serviceBus()',
        text: `It may not manage ${unknown.join(', ')}: a scaler with this identity looks at about ten messages instead of the depth, so delayed ones hide those that are ready.`,
        remedy: `Grant ${manage}.`,
      };
    },
  },
  advised('servicebus.duplicates', 'error'),
  advised('servicebus.sessions', 'error'),
  advised('servicebus.window', 'warning'),
  advised('servicebus.lock', 'warning'),
  advised('servicebus.deliveries', 'warning'),
  advised('servicebus.expiry', 'warning'),
  advised('servicebus.idle', 'warning'),
];
