/**
 * Signs the texts of steps and events in the store, as every envelope is signed, together with their name. Write access to the store is not
 * enough to make a handler accept another result. Loaded with the first step, event or move.
 */

import { LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import type { StepStore } from '../../contract/derived/steps.ts';
import { seal, unseal } from '../../envelope/seal.ts';
import type { App } from '../../kernel/app/app.ts';
import { isPiece } from './stored.ts';

const subjectOf = (name: string): string => `longshore steps ${name} `;

/**
 * The same store without the signatures. Texts are verified before they are parsed. `read` rejects with `SIGNATURE` or `UNKNOWN_KEY`, and then
 * changes nothing. Unsigned texts of an earlier release are accepted while the ring accepts unsigned envelopes. Pieces of steps pass as they
 * are: a signed text has their digests.
 *
 * @param refused called with the error for each text that does not verify
 */
export function sealedSteps(
  store: StepStore,
  app: Pick<App, 'keyRing' | 'clock'>,
  refused: (error: LongshoreError) => void = () => {},
): StepStore {
  const { within } = store;
  return {
    async read(name) {
      const found = await store.read(name);
      if (found === null || isPiece(name)) return found;
      try {
        const text = unseal(app.keyRing(), subjectOf(name), found.text, app.clock.now());
        return { text, version: found.version };
      } catch (cause) {
        const error = unverified(name, cause);
        refused(error);
        throw error;
      }
    },
    write: (name, text, over, endsAt) =>
      store.write(name, isPiece(name) ? text : seal(app.keyRing(), subjectOf(name), text), over, endsAt),
    remove: (name, version) => store.remove(name, version),
    ...(within && { within: (tx) => sealedSteps(within.call(store, tx), app, refused) }),
  };
}

function unverified(name: string, cause: unknown): LongshoreError {
  const code = cause instanceof LongshoreError ? cause.code : 'SIGNATURE';
  return new LongshoreError(
    code,
    `The stored text ${JSON.stringify(name)} does not verify, so it was not used. ${toError(cause).message}`,
    { cause },
  );
}
