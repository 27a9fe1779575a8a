/**
 * The queues of the example for the official emulator of Service Bus, which allows less than Azure: messages live for one hour, the duplicate
 * window is five minutes, and there are ten deliveries. `node infra/azure/emulator.ts > infra/selfhost/servicebus.json`
 */

import { createExampleApp } from '../../examples/app/app.ts';
import { queueProperties } from '../../local/package/azure/template.ts';

/**
 * @param queues of the app; each gets another one for failed jobs
 * @param sessions the queues that require sessions
 */
export function emulatorConfig(queues: readonly string[], sessions: readonly string[] = []) {
  const { lockDuration, maxDeliveryCount, requiresDuplicateDetection, deadLetteringOnMessageExpiration } =
    queueProperties;
  const Properties = {
    DeadLetteringOnMessageExpiration: deadLetteringOnMessageExpiration,
    DefaultMessageTimeToLive: 'PT1H',
    DuplicateDetectionHistoryTimeWindow: 'PT5M',
    ForwardDeadLetteredMessagesTo: '',
    ForwardTo: '',
    LockDuration: lockDuration,
    MaxDeliveryCount: maxDeliveryCount,
    RequiresDuplicateDetection: requiresDuplicateDetection,
  };
  const Queues = queues
    .flatMap((name) => [name, `${name}-failed`])
    .map((Name) => ({ Name, Properties: { ...Properties, RequiresSession: sessions.includes(Name) } }));
  return {
    UserConfig: {
      Namespaces: [{ Name: 'sbemulatorns', Queues, Topics: [] }],
      Logging: { Type: 'Console' },
    },
  };
}

if (import.meta.main) {
  const { app } = createExampleApp({} as never); // for its queues; no job runs here
  console.log(JSON.stringify(emulatorConfig(app.queues), null, 2));
}
