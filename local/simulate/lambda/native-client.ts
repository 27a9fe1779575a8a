/**
 * Stands in for the compiled half of AWS's runtime client, which only fetches events and posts answers; what loads the
 * handler, makes its context and words its errors is AWS's own code.
 */

import Module from 'node:module';

const base = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation`;
let posted = Promise.resolve();

const client = {
  initializeClient() {},
  async next() {
    await posted; // an answer is on its way before the next event is asked for
    const response = await fetch(`${base}/next`);
    return { bodyJson: await response.text(), headers: Object.fromEntries(response.headers) };
  },
  done(id, body) {
    posted = fetch(`${base}/${id}/response`, { method: 'POST', body });
  },
  error(id, body) {
    posted = fetch(`${base}/${id}/error`, { method: 'POST', body });
  },
};

const load = Module._load;
Module._load = (request, ...rest) =>
  request.endsWith('rapid-client.node') ? client : load.call(Module, request, ...rest);
