/** `longshore/local`: the runner for development and self-hosting. Backends have subpaths of their own. */

export type { PayloadStore } from '../core/contract/store.ts';
export { directoryPayloads } from './directory-payloads.ts';
export { logTo } from './log.ts';
export { type HttpServer, type ServeOptions, serveHttp } from './serve.ts';
export { type Local, type LocalOptions, startLocal } from './start.ts';
