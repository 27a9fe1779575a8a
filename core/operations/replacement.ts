/** Dead letters signed anew. */

import type { Replacement } from '../contract/admin.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { resealed } from '../kernel/enqueue/anew.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import type { Upload } from '../kernel/enqueue/offload.ts';

/** Its attempts begin anew. Otherwise as `resealed`. */
export const signedAnew = (client: Client, envelope: Envelope, uploads: Upload[] | null): Replacement =>
  resealed(client, { ...envelope, attempts: 0 }, uploads);

export const isExpired = ({ expiresAt }: Envelope, now: number): boolean =>
  expiresAt != null && expiresAt <= now;

export const expiredText =
  'It has expired, and would expire again at once. Give it a new expiry (expiresInMs, --expires-in).';
