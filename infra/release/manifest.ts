/** The package.json of the package: without the parts for a checkout, and with its exports and commands as built files. */

import { normalize } from 'node:path';

/** The fields of package.json that are used here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly repository: { readonly url: string };
  readonly exports: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** The files that users import or start, and the one that reads package.json by its own path. */
export const entriesOf = ({ exports, bin }: Manifest): readonly string[] =>
  [...Object.values(exports), ...Object.values(bin), 'local/cli/version.ts'].map((path) => normalize(path));

/** @param path of a source, of its built file or of its types */
export const withoutEnding = (path: string): string => normalize(path).replace(/(\.d)?\.[jt]s$/, '');

/** Like `https://github.com/owner/name`. Only `repository` of package.json names it. */
export const repositoryOf = ({ repository }: Manifest): string =>
  repository.url.replace(/^git\+/, '').replace(/\.git$/, '');

/** @param files what the folder holds beside package.json */
export function publishedManifest(manifest: Manifest, files: readonly string[]): Record<string, unknown> {
  // `main` is for the worker of Azure Functions in this repository. The package has `exports`.
  const {
    private: _,
    main,
    scripts,
    allowScripts,
    devDependencies,
    optionalDependencies,
    overrides,
    ...published
  } = manifest;
  const repository = repositoryOf(manifest);
  const exports = Object.entries(manifest.exports).map(([subpath, source]) => {
    const path = `./${withoutEnding(source)}`;
    return [subpath, { types: `${path}.d.ts`, default: `${path}.js` }];
  });
  const bin = Object.entries(manifest.bin).map(([name, source]) => [name, `${withoutEnding(source)}.js`]);
  return {
    ...published,
    homepage: `${repository}#readme`,
    bugs: `${repository}/issues`,
    exports: Object.fromEntries(exports),
    bin: Object.fromEntries(bin),
    files,
  };
}
