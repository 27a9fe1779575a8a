/** The host.json of a function app. docs/azure.md says why each value is what it is. */

import type { AzurePlan } from './plan.ts';

export function hostJson({ functionTimeoutMs }: AzurePlan): string {
  const timeout = timeSpan(functionTimeoutMs);
  const content = {
    version: '2.0',
    functionTimeout: timeout,
    extensionBundle: { id: 'Microsoft.Azure.Functions.ExtensionBundle', version: '[4.0.0, 5.0.0)' },
    extensions: {
      serviceBus: {
        autoCompleteMessages: true,
        maxAutoLockRenewalDuration: timeout,
        maxConcurrentCalls: 16,
        maxConcurrentSessions: 8,
        sessionIdleTimeout: '00:00:05',
        prefetchCount: 0,
      },
      http: { routePrefix: 'api' },
    },
    logging: {
      logLevel: { default: 'Information' },
      applicationInsights: { samplingSettings: { isEnabled: true, excludedTypes: 'Request;Exception' } },
    },
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** `00:30:00`. */
function timeSpan(ms: number): string {
  const parts = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60];
  return parts.map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');
}
