import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * For settlements over AMQP. The SDK's library (rhea 3.0.5) writes all of one turn of the event loop at once, and may give the second of two
 * neighbouring messages the outcome of the first: a released job would be completed. So only equal outcomes share a turn.
 *
 * The gate resolves when a settlement may begin, which it must do at once. An outcome of '' is equal to no other.
 */
export function createAmqpGate() {
  let turn: { readonly outcome: string; readonly end: Promise<void> } | null = null;

  async function endOfTurn(): Promise<void> {
    await nextTurn();
    turn = null;
  }

  return async (outcome: string): Promise<void> => {
    while (turn && (outcome === '' || turn.outcome !== outcome)) await turn.end;
    turn ??= { outcome, end: endOfTurn() };
  };
}
