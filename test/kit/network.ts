/** A network between a client and a server that does to connections what broken networks do. */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

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
  /** So many bytes of the server still arrive. */
  readonly afterBytes: number;
  /** Of `hold`. */
  readonly holdMs?: number;
}

export interface Network {
  /** The address of the server, through this network. */
  readonly url: string;
  /** How many bytes of the server have arrived. */
  readonly bytes: number;
  /** How many connections have met their fate. */
  readonly faults: number;
  /** From now on nothing happens to connections. The server is told of those that were dropped, as its keepalive would do. */
  heal(): void;
  close(): Promise<void>;
}

/** @param fateOf called for each new connection; `null` = nothing happens to it */
export async function startNetwork(url: string, fateOf: () => Fate | null): Promise<Network> {
  const target = new URL(url);
  const links = new Set<ReturnType<typeof createLink>>();
  let bytes = 0;
  let faults = 0;
  let isHealed = false;

  function createLink(near: Socket, far: Socket, fate: Fate | null) {
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
    }

    function strike({ fault, holdMs = 0 }: Fate): void {
      faults++;
      if (fault === 'hold') {
        state = 'held';
        setTimeout(release, holdMs).unref();
        return;
      }
      state = 'silent';
      for (const socket of fault === 'drop' ? [] : fault === 'half-open' ? [far] : [near, far])
        if (fault === 'end') socket.end(() => socket.destroy());
        else socket.resetAndDestroy();
    }

    function sendBack(chunk: Buffer): void {
      bytes += chunk.length;
      near.write(chunk);
    }

    near.on('data', (chunk) => pass(() => far.write(chunk)));
    far.on('data', (chunk) => {
      const isStruck = !isHealed && chunk.length > leftBytes;
      const first = isStruck ? chunk.subarray(0, leftBytes) : chunk;
      leftBytes -= chunk.length;
      pass(() => sendBack(first));
      if (!isStruck) return;
      leftBytes = Number.POSITIVE_INFINITY;
      strike(fate!);
      pass(() => sendBack(chunk.subarray(first.length)));
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => one.destroy());
      one.on('close', () => pass(() => other.destroy()));
    }
    return {
      heal(): void {
        release();
        if (state === 'silent') far.resetAndDestroy();
      },
      destroy(): void {
        near.destroy();
        far.destroy();
      },
    };
  }

  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    const link = createLink(near, far, isHealed ? null : fateOf());
    links.add(link);
    near.on('close', () => far.destroyed && links.delete(link));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = new URL(url);
  own.port = String((server.address() as { port: number }).port);

  return {
    url: own.href,
    get bytes() {
      return bytes;
    },
    get faults() {
      return faults;
    },
    heal() {
      isHealed = true;
      for (const link of links) link.heal();
    },
    async close() {
      for (const link of links) link.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
