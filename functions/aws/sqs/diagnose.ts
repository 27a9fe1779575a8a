/** What `longshore doctor` looks at in SQS. */

import { toError } from '../../../core/base/failure.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import type { Check, DiagnosisRequest, Problem, QueueNeeds } from '../../../core/contract/diagnosis.ts';
import { checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { type Advice, adviceOf, type LookedQueue, lookAt, receivesOf } from './check.ts';
import type { Connection } from './connection.ts';

interface LookedFor {
  readonly name: string;
  readonly needs: QueueNeeds;
  readonly looked: LookedQueue | Error;
}

interface SqsFacts {
  /** Every queue that is configured, as SQS shows it, or why it does not. */
  queues(): Promise<readonly LookedFor[]>;
}

export function sqsDiagnosis(connection: Connection, { needsOf }: DiagnosisRequest): Check[] {
  const queues = onDemand(() =>
    Promise.all(
      connection.queues.all().map(async ({ name }): Promise<LookedFor> => {
        const looked = await lookAt(connection, name).catch(toError);
        return { name, needs: needsOf(name), looked };
      }),
    ),
  );
  return checksOf(sqsChecks, { queues });
}

/** Those that could be looked at; of the others sqs.queues tells. */
async function lookedIn({ queues }: SqsFacts): Promise<(LookedFor & { looked: LookedQueue })[]> {
  return (await queues()).flatMap((one) =>
    one.looked instanceof Error ? [] : [{ ...one, looked: one.looked }],
  );
}

const advised = (id: Advice['id']): Check<SqsFacts> => ({
  id,
  severity: 'warning',
  async look(facts) {
    const found = await lookedIn(facts);
    return found.flatMap(({ looked, needs }) => adviceOf(looked, needs).filter((one) => one.id === id));
  },
});

export const sqsChecks: readonly Check<SqsFacts>[] = [
  {
    id: 'sqs.queues',
    severity: 'error',
    async look({ queues }) {
      return (await queues()).flatMap(({ name, looked }): Problem[] => {
        if (!(looked instanceof Error)) return [];
        const remedy =
          'Create it, or correct its URL, and grant sqs:GetQueueAttributes, which scaling by depth needs too.';
        return [{ where: `queue "${name}"`, text: looked.message, remedy }];
      });
    },
  },
  {
    id: 'sqs.receives',
    severity: 'error',
    async look(facts) {
      const found = await lookedIn(facts);
      return found.flatMap(({ looked, needs }) =>
        looked.lanes.map((lane) => receivesOf(lane, needs)).filter((problem) => problem !== null),
      );
    },
  },
  advised('sqs.visibility'),
  advised('sqs.redrive'),
  advised('sqs.retention'),
  advised('sqs.size'),
];
