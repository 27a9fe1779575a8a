/** Connections that break. The SDK makes another one in time, but leaves some of the requests under way without an answer. */

import type { ServiceBusClient } from '@azure/service-bus';
import { codeOf } from './errors.ts';

/** Private state of the SDK. */
interface Context {
  readonly _connectionContext?: {
    readonly connection?: { once?(event: 'connection_open' | 'disconnected', listener: () => void): unknown };
  };
}

/** Calls `then` when the connection of this client breaks. One that was never open is left to the SDK, which waits before it tries again. */
export function onCut(client: ServiceBusClient, then: (error: Error) => void): void {
  const { connection } = (client as unknown as Context)._connectionContext ?? {};
  connection?.once?.('connection_open', () => {
    connection.once?.('disconnected', () => {
      const error = new Error('The connection to Service Bus broke.');
      then(Object.assign(error, { code: 'ConnectionBroke' }));
    });
  });
}

export const isCut = (error: unknown): boolean => codeOf(error) === 'ConnectionBroke';
