/** `node:crypto`, loaded on first use: loading it takes as long as loading the rest of Longshore's core. */

type Crypto = typeof import('node:crypto');

let loaded: Crypto | undefined;

export function crypto(): Crypto {
  loaded ??= process.getBuiltinModule('node:crypto');
  return loaded;
}
