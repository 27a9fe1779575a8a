/** `node:crypto`, loaded when it is first needed: loading it takes as long as loading all of Longshore's core. */

type Crypto = typeof import('node:crypto');

let loaded: Crypto | undefined;

export function crypto(): Crypto {
  loaded ??= process.getBuiltinModule('node:crypto');
  return loaded;
}
