/** Texts of steps and events in the table. */

import { randomUUID } from 'node:crypto';
import type { StepStore } from '../../../core/contract/steps.ts';
import type { Dynamo } from './api.ts';
import { expiry } from './sort-keys.ts';

const pkOf = (name: string): string => `step#${name}`;
const during = 'writing steps';

export const dynamoSteps = (dynamo: Dynamo): StepStore => ({
  async read(name) {
    const [item] = await dynamo.call('reading steps', (api) => api.read([pkOf(name)]));
    return item ? { text: item.state as string, version: item.version as string } : null;
  },
  async write(name, text, over, endsAt) {
    const version = randomUUID();
    const item = { pk: pkOf(name), version, state: text, expiresAt: expiry(endsAt) };
    return (await dynamo.call(during, (api) => api.write(item, over))) ? version : null;
  },
  remove: (name, version) => dynamo.call(during, (api) => api.remove(pkOf(name), version)),
});
