/**
 * The texts of steps and events as a store keeps them: signed, like every envelope, and bound to the name they are kept under. Whoever writes into
 * the store cannot make a handler believe that a step has returned something else. Loaded with the first step, event or move.
 */

import type { App } from '../app/app.ts';
import { LongshoreError } from '../base/errors.ts';
import { toError } from '../base/failure.ts';
import { withoutSeparators } from '../base/separators.ts';
import type { StepStore, StepText } from '../contract/steps.ts';
import { verifyText } from '../envelope/envelope.ts';

const subjectOf = (name: string): string => `longshore steps ${name} `;

/**
 * The same store for those who know only what is inside the signatures. What is read is verified before it is parsed. `read` rejects with `SIGNATURE` or
 * `UNKNOWN_KEY`, and changes nothing then. Unsigned texts of an earlier release are read while the ring accepts unsigned envelopes.
 *
 * @param refused hears of each text that does not verify
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
      if (found === null) return null;
      try {
        return opened(app, name, found);
      } catch (cause) {
        const error = unverified(name, cause);
        refused(error);
        throw error;
      }
    },
    write: (name, text, over, endsAt) => store.write(name, sealed(app, name, text), over, endsAt),
    remove: (name, version) => store.remove(name, version),
    ...(within && { within: (tx) => sealedSteps(within.call(store, tx), app, refused) }),
  };
}

/** @param text an object as JSON */
function sealed(app: Pick<App, 'keyRing'>, name: string, text: string): string {
  const ring = app.keyRing();
  // Here, and not in a store: nothing may change behind the signature.
  const signed = `${withoutSeparators(text).slice(0, -1)},"kid":"${ring.kid}"`;
  return `${signed},"_sig":"${ring.sign(subjectOf(name) + signed)}"}`;
}

function opened(app: Pick<App, 'keyRing' | 'clock'>, name: string, found: StepText): StepText {
  const kid = verifyText(found.text, app.keyRing(), app.clock.now(), subjectOf(name));
  if (kid === null) return found;
  const end = found.text.lastIndexOf(`,"kid":"${kid}","_sig":"`);
  return { text: `${found.text.slice(0, end)}}`, version: found.version };
}

function unverified(name: string, cause: unknown): LongshoreError {
  const code = cause instanceof LongshoreError ? cause.code : 'SIGNATURE';
  return new LongshoreError(
    code,
    `What the store keeps as ${JSON.stringify(name)} does not verify, so nothing of it was believed. ${toError(cause).message}`,
    { cause },
  );
}
