/** A Prisma client without models: what `prisma generate` writes for an empty schema, for which it would need 230 MB. */

import { createRequire } from 'node:module';
import * as runtime from '@prisma/client/runtime/client';

interface RawClient {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
  $executeRawUnsafe(text: string, ...values: unknown[]): Promise<number>;
}

interface ModellessClient extends RawClient {
  $transaction<Result>(work: (tx: RawClient) => Promise<Result>): Promise<Result>;
  $disconnect(): Promise<void>;
}

const compiler = '@prisma/client/runtime/query_compiler_fast_bg.postgresql';
const load = createRequire(import.meta.url);

/** @param adapter a driver adapter, such as `PrismaPg` */
export const openPrisma = (adapter: object): ModellessClient =>
  new (runtime.getPrismaClient({
    previewFeatures: [],
    clientVersion: (load('@prisma/client/package.json') as { version: string }).version,
    engineVersion: '',
    activeProvider: 'postgresql',
    inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: 'AAAA' },
    compilerWasm: {
      getRuntime: async () => load(`${compiler}.js`),
      async getQueryCompilerWasmModule() {
        const { wasm } = load(`${compiler}.wasm-base64.js`) as { wasm: string };
        return new (globalThis as unknown as Compiling).WebAssembly.Module(Buffer.from(wasm, 'base64'));
      },
      importName: './query_compiler_fast_bg.js',
    },
  }))({ adapter: adapter as never }) as unknown as ModellessClient;

interface Compiling {
  readonly WebAssembly: { readonly Module: new (bytes: Uint8Array) => object };
}
