/** Receivers that are slow, huge, endless or no HTTP servers at all; and the ends that a job can meet meanwhile. */

import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type UrlJobDefinition, urlJob } from '../../../core/jobs/url.ts';
import type { EndCause } from '../../../core/kernel/attempt/run.ts';
import { until } from '../../kit/until.ts';
import { begin, httpServer, rawServer, runOnce, scriptedLookup } from './kit.ts';

function jobFor(port: number, options: UrlJobDefinition = {}) {
  const { lookup } = scriptedLookup({ 'hook.test': [['127.0.0.1']] });
  const job = urlJob({ testing: { lookup }, ...options, allowPrivate: [`hook.test:${port}`] });
  return { job, payload: { url: `http://hook.test:${port}/in` } };
}

/** Writes again and again for as long as the other side reads. */
function pour(socket: Socket, chunk: string | Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

async function raw(talk: (socket: Socket) => void, options: UrlJobDefinition = {}) {
  const closed: boolean[] = [];
  const server = await rawServer((socket) => {
    socket.on('close', () => closed.push(true));
    talk(socket);
  });
  const { job, payload } = jobFor(server.port, options);
  const result = await runOnce(job, payload);
  await until(() => closed.length > 0);
  return { ...result, message: result.error?.message.replace(`:${server.port}`, '') };
}

const ok = 'HTTP/1.1 200 OK\r\n';
const tooLarge =
  'GET http://hook.test/in answered with more than 1000 bytes. Raise maxResponseBytes if that is right.';
const tooManyHeaders =
  'GET http://hook.test/in answered with more than 16384 bytes of headers. Raise maxHeaderBytes if that is right.';

describe('a body beyond maxResponseBytes', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['that says so', (socket) => socket.write(`${ok}content-length: 1001\r\n\r\n`)],
    ['that says something absurd', (socket) => socket.write(`${ok}content-length: 9007199254740991\r\n\r\n`)],
    [
      'in one endless stream',
      (socket) => {
        socket.write(`${ok}\r\n`);
        pour(socket, Buffer.alloc(65_536, 'x'));
      },
    ],
    [
      'in endless chunks',
      (socket) => {
        socket.write(`${ok}transfer-encoding: chunked\r\n\r\n`);
        pour(socket, '5\r\nhello\r\n');
      },
    ],
    ['by one byte', (socket) => socket.end(`${ok}\r\n${'x'.repeat(1001)}`)],
  ])('%s ends the call and names the cap', async (_, talk) => {
    const result = await raw(talk, { maxResponseBytes: 1000 });
    expect(result).toMatchObject({ outcome: 'dead-lettered', reason: 'permanent', message: tooLarge });
  });

  it('not beyond it is fine', async () => {
    const result = await raw((socket) => socket.end(`${ok}\r\n${'x'.repeat(1000)}`), {
      maxResponseBytes: 1000,
    });
    expect(result).toMatchObject({ outcome: 'acked', output: { status: 200, bytes: 1000 } });
  });

  it('is not even read when the call has failed anyway', async () => {
    const result = await raw((socket) => {
      socket.write('HTTP/1.1 500 Oops\r\n\r\n');
      pour(socket, Buffer.alloc(65_536, 'x'));
    });
    expect(result).toMatchObject({ outcome: 'requeued', message: 'GET http://hook.test/in answered 500.' });
  });
});

describe('headers beyond maxHeaderBytes', () => {
  it.each<[string, (socket: Socket) => void]>([
    [
      'one endless header',
      (socket) => {
        socket.write(`${ok}x: `);
        pour(socket, 'x'.repeat(4096));
      },
    ],
    [
      'endless headers',
      (socket) => {
        socket.write(ok);
        pour(socket, 'x-a: b\r\n');
      },
    ],
    [
      'an endless status line',
      (socket) => {
        socket.write('HTTP/1.1 200 ');
        pour(socket, 'x'.repeat(4096));
      },
    ],
    ['a large cookie', (socket) => socket.end(`${ok}set-cookie: ${'x'.repeat(20_000)}\r\n\r\n`)],
  ])('%s ends the call and names the cap', async (_, talk) => {
    const result = await raw(talk);
    expect(result).toMatchObject({ outcome: 'dead-lettered', reason: 'permanent', message: tooManyHeaders });
  });

  it('may be raised', async () => {
    const talk = (socket: Socket) =>
      socket.end(`${ok}set-cookie: ${'x'.repeat(20_000)}\r\ncontent-length: 0\r\n\r\n`);
    expect(await raw(talk, { maxHeaderBytes: 30_000 })).toMatchObject({ outcome: 'acked' });
  });

  it('count in trailers too', async () => {
    const result = await raw((socket) => {
      socket.write(`${ok}transfer-encoding: chunked\r\n\r\n0\r\n`);
      pour(socket, 'x-a: b\r\n');
    });
    expect(result.outcome).not.toBe('acked');
  });
});

describe('what is not an answer', () => {
  it.each<[string, (socket: Socket) => void, string]>([
    ['nothing', (socket) => socket.end(), 'ECONNRESET'],
    ['a reset', (socket) => socket.resetAndDestroy(), 'ECONNRESET'],
    ['another protocol', (socket) => socket.end('220 mail.test ESMTP hunter2\r\n'), 'HPE_INVALID_CONSTANT'],
    ['half a header', (socket) => socket.end(`${ok}content-le`), 'HPE_INVALID_EOF_STATE|ECONNRESET'],
    [
      'a wrong length',
      (socket) => socket.end(`${ok}content-length: x\r\n\r\n`),
      'HPE_INVALID_CONTENT_LENGTH',
    ],
    [
      'two lengths',
      (socket) => socket.end(`${ok}content-length: 1\r\ncontent-length: 2\r\n\r\nab`),
      'HPE_\\w+',
    ],
    [
      'two framings',
      (socket) => socket.end(`${ok}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
      'HPE_\\w+',
    ],
    [
      'a broken chunk',
      (socket) => socket.end(`${ok}transfer-encoding: chunked\r\n\r\nz\r\nhunter2`),
      'HPE_INVALID_CHUNK_SIZE|ECONNRESET',
    ],
    ['a body cut short', (socket) => socket.end(`${ok}content-length: 100\r\n\r\nhunter2`), 'ECONNRESET'],
    [
      'an unasked upgrade',
      (socket) => socket.end('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      '.+',
    ],
  ])('%s is retried, and nothing of it is shown', async (_, talk, code) => {
    const result = await raw(talk);
    expect(result.outcome).toBe('requeued');
    expect(result.message).toMatch(new RegExp(`^GET http://hook\\.test/in failed: (?:${code})\\.$`));
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });
});

describe('a connection that does not come about', () => {
  it('because DNS does not answer is given up', async () => {
    const job = urlJob({ connectTimeoutMs: 20, testing: { lookup: () => new Promise(() => {}) } });
    const result = await runOnce(job, { url: 'https://slow.test/in?token=hunter2' });
    expect(result).toMatchObject({ outcome: 'requeued' });
    expect(result.error?.message).toBe('GET https://slow.test/in failed: no connection within 20 ms.');
  });

  it('because TLS does not begin is given up', async () => {
    const server = await rawServer(() => {});
    const { job } = jobFor(server.port, { connectTimeoutMs: 50 });
    const result = await runOnce(job, { url: `https://hook.test:${server.port}/in` });
    expect(result.error?.message).toMatch(/failed: no connection within 50 ms\.$/);
  });

  it('is another matter than a slow answer', async () => {
    const server = await httpServer((_, response) => setTimeout(() => response.end(), 400));
    const { job, payload } = jobFor(server.port, { connectTimeoutMs: 300 });
    expect(await runOnce(job, payload)).toMatchObject({ outcome: 'acked' });
  });
});

describe('a receiver that never ends', () => {
  const talks: readonly [string, (socket: Socket) => void][] = [
    ['says nothing', () => {}],
    [
      'sends a header now and then',
      (socket) => {
        socket.write(ok);
        const timer = setInterval(() => socket.write('x: y\r\n'), 5);
        socket.on('close', () => clearInterval(timer));
      },
    ],
    [
      'sends 100 Continue for ever',
      (socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), 1);
        socket.on('close', () => clearInterval(timer));
      },
    ],
    [
      'sends a byte now and then',
      (socket) => {
        socket.write(`${ok}content-length: 100000\r\n\r\n`);
        const timer = setInterval(() => socket.write('x'), 5);
        socket.on('close', () => clearInterval(timer));
      },
    ],
  ];
  const causes: readonly EndCause[] = ['timeout', 'cancelled', 'shutdown', 'lease-lost'];

  it.each(talks.flatMap(([what, talk]) => causes.map((cause) => [what, cause, talk] as const)))(
    'and %s is left at %s',
    async (_, cause, talk) => {
      let open = 0;
      const server = await rawServer((socket) => {
        open++;
        socket.on('close', () => open--);
        talk(socket);
      });
      const { job, payload } = jobFor(server.port);
      const { run, done } = await begin(job, payload);
      await until(() => open === 1);
      // `interrupt` only tells the handler: that the attempt ends shows that the handler has listened.
      run.interrupt(cause);
      const result = await done;
      expect(result.error?.code).toBe(
        { timeout: 'TIMEOUT', 'lease-lost': 'LEASE_LOST', cancelled: 'CANCELLED', shutdown: 'CANCELLED' }[
          cause
        ],
      );
      await until(() => open === 0);
    },
  );

  it.each(causes)(
    'and sends a body without a length is left at %s, and its part is no answer',
    async (cause) => {
      let parts = 0;
      const server = await rawServer((socket) => {
        socket.write(`${ok}\r\n`);
        const timer = setInterval(() => socket.write(`part ${++parts}\n`), 5);
        socket.on('close', () => clearInterval(timer));
      });
      const { job, payload } = jobFor(server.port, { keepBody: { maxBytes: 1_000 } });
      const { run, done } = await begin(job, payload);
      await until(() => parts >= 5); // the first have been read then
      run.interrupt(cause);
      expect(await done).toMatchObject({
        error: { code: expect.stringMatching(/TIMEOUT|LEASE_LOST|CANCELLED/) },
      });
    },
  );

  it('is left although nobody waits for the handler any more', async () => {
    let open = 0;
    const server = await rawServer((socket) => {
      open++;
      socket.on('close', () => open--);
    });
    const { job, payload } = jobFor(server.port);
    const { run, done } = await begin(job, payload);
    await until(() => open === 1);
    run.end('timeout');
    expect(await done).toMatchObject({ outcome: 'requeued', error: { code: 'TIMEOUT' } });
    await until(() => open === 0);
  });

  it('is left while DNS is asked, and not called later', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly { address: string; family: number }[]>();
    let isAsked = false;
    const server = await httpServer((_, response) => response.end());
    const lookup = () => {
      isAsked = true;
      return promise;
    };
    const { job, payload } = jobFor(server.port, { testing: { lookup } });
    const { run, done } = await begin(job, payload);
    await until(() => isAsked);
    run.interrupt('cancelled');
    expect(await done).toMatchObject({ error: { code: 'CANCELLED' } });
    resolve([{ address: '127.0.0.1', family: 4 }]);
    await new Promise(setImmediate);
    expect(server.connections()).toBe(0);
  });
});
