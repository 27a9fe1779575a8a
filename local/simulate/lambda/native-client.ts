/**
 * Replaces the compiled part of AWS's runtime client, which fetches events and posts answers. AWS's own code still loads the handler,
 * makes its context and reports its errors. Loaded with `--import` before that code.
 */

import Module from 'node:module';

const base = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation`;
let posted: Promise<unknown> = Promise.resolve();

const post = (path: string, body: string): Promise<unknown> =>
  fetch(`${base}/${path}`, { method: 'POST', body });

const client = {
  initializeClient() {},
  async next() {
    await posted; // answers first, then asks for the next event
    const response = await fetch(`${base}/next`);
    return { bodyJson: await response.text(), headers: Object.fromEntries(response.headers) };
  },
  done(id: string, body: string) {
    posted = post(`${id}/response`, body);
  },
  error(id: string, body: string) {
    posted = post(`${id}/error`, body);
  },
};

type Load = (request: string, ...rest: unknown[]) => unknown;
const loader = Module as unknown as { _load: Load };
const load = loader._load;
loader._load = (request, ...rest) =>
  request.endsWith('rapid-client.node') ? client : load.call(loader, request, ...rest);
