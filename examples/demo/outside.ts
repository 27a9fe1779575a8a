/** The outside world in this process: a partner who takes webhooks and a payment gateway, both with a bad moment. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Outside {
  readonly webhookUrl: string;
  readonly paymentUrl: string;
  /** Order numbers the partner has been told of. */
  readonly webhooks: readonly string[];
  readonly payments: readonly string[];
  close(): Promise<void>;
}

export interface BadMoments {
  /** The partner answers 503 with `Retry-After` to the first call for this order. */
  readonly busyOnceFor: string;
  /** The gateway answers 502 twice for this order. */
  readonly failTwiceFor: string;
}

export async function openOutside({ busyOnceFor, failTwiceFor }: BadMoments): Promise<Outside> {
  const webhooks: string[] = [];
  const payments: string[] = [];
  let busy = 1;
  let failures = 2;

  function webhook(orderNo: string, response: ServerResponse): void {
    if (orderNo === busyOnceFor && busy-- > 0) response.writeHead(503, { 'retry-after': '1' });
    else {
      webhooks.push(orderNo);
      response.writeHead(204);
    }
    response.end();
  }

  function payment(orderNo: string, response: ServerResponse): void {
    if (orderNo === failTwiceFor && failures-- > 0) response.writeHead(502);
    else {
      payments.push(orderNo);
      response.writeHead(201);
    }
    response.end();
  }

  const server = createServer(async (request, response) => {
    try {
      const body = JSON.parse(await textOf(request));
      if (request.url === '/webhook') webhook(body.data.orderNo, response);
      else if (request.url === '/payments') payment(body.orderNo, response);
      else response.writeHead(404).end();
    } catch {
      if (!response.headersSent) response.writeHead(400).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    webhookUrl: `http://127.0.0.1:${port}/webhook`,
    paymentUrl: `http://127.0.0.1:${port}/payments`,
    webhooks,
    payments,
    async close() {
      server.closeAllConnections(); // fetch keeps its connections open, and close() would wait for them
      server.close();
      await once(server, 'close');
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
