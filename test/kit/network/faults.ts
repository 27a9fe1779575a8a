/** A network between a client and a server that does to connections what broken networks do. */

import type { Socket } from 'node:net';
import { type Between, startBetween } from './between.ts';

export type Fault =
  /** Both ends are told at once. */
  | 'reset'
  /** Both ends are told, in order. */
  | 'end'
  /** Nothing arrives any more, and nobody is told. */
  | 'drop'
  /** The server is told, the client is not. */
  | 'half-open'
  /** All that was under way arrives later, also what its sender has long given up. */
  | 'hold';

/** What will happen to a connection. */
export interface Fate {
  readonly fault: Fault;
  /** So many bytes still arrive, those of both sides together. */
  readonly afterBytes: number;
  /** Of `hold`. */
  readonly holdMs?: number;
  /** After so long both ends are told of a `drop` or a `half-open`, for clients that need it. */
  readonly toldAfterMs?: number;
}

export interface Network extends Pick<Between, 'url' | 'close'> {
  /** How many connections have met their fate. */
  readonly faults: number;
  /** From now on nothing happens to connections. The server is told of those that were dropped, as its keepalive would do. */
  heal(): void;
}

/** @param fateOf called for each new connection, and again when one has been held; `null` = nothing happens to it */
export async function startNetwork(url: string, fateOf: () => Fate | null): Promise<Network> {
  const links = new Set<ReturnType<typeof createLink>>();
  let faults = 0;
  let isHealed = false;

  function createLink(near: Socket, far: Socket) {
    let fate = isHealed ? null : fateOf();
    let leftBytes = fate?.afterBytes ?? Number.POSITIVE_INFINITY;
    let state: 'open' | 'silent' | 'held' = 'open';
    let held: (() => void)[] = [];

    /** Does what has arrived at this side to the other one, as far as the network lets it. */
    function pass(what: () => void): void {
      if (state === 'open') what();
      else if (state === 'held') held.push(what);
    }

    function release(): void {
      if (state !== 'held') return;
      state = 'open';
      for (const what of held) what();
      held = [];
      fate = isHealed ? null : fateOf();
      leftBytes = fate?.afterBytes ?? Number.POSITIVE_INFINITY;
    }

    function strike({ fault, holdMs = 0, toldAfterMs }: Fate): void {
      faults++;
      if (fault === 'hold') {
        state = 'held';
        setTimeout(release, holdMs).unref();
        return;
      }
      state = 'silent';
      if (toldAfterMs !== undefined) setTimeout(reset, toldAfterMs).unref();
      if (fault === 'reset') reset();
      else if (fault === 'half-open') far.resetAndDestroy();
      else if (fault === 'end') for (const socket of [near, far]) socket.end(() => socket.destroy());
    }

    function reset(): void {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }

    function carry(chunk: Buffer, to: Socket): void {
      const isStruck = !isHealed && chunk.length > leftBytes;
      const first = isStruck ? chunk.subarray(0, leftBytes) : chunk;
      leftBytes -= chunk.length;
      pass(() => to.write(first));
      if (!isStruck) return;
      leftBytes = Number.POSITIVE_INFINITY;
      strike(fate!);
      pass(() => to.write(chunk.subarray(first.length)));
    }

    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('data', (chunk) => carry(chunk, other));
      one.on('close', () => pass(() => other.destroy()));
    }
    return {
      heal(): void {
        release();
        if (state === 'silent') far.resetAndDestroy();
      },
    };
  }

  const between = await startBetween(url, (near, far) => {
    const link = createLink(near, far);
    links.add(link);
    near.on('close', () => far.destroyed && links.delete(link));
  });

  return {
    url: between.url,
    get faults() {
      return faults;
    },
    heal() {
      isHealed = true;
      for (const link of links) link.heal();
    },
    close: between.close,
  };
}
