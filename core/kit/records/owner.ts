/** Owners of slots and records, as they are stored. */

import { crypto } from '../../base/crypto.ts';

/** Hashes long owners: the token of a lease may be longer than all else that is stored with it. */
export const shortOwner = (owner: string): string =>
  owner.length <= 43 ? owner : crypto().createHash('sha256').update(owner).digest('base64url');
