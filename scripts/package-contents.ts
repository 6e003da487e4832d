// What of this project is published, and in which form.
import { ENGINES } from '../bin/node-version.mjs'

export interface PackageManifest {
  readonly [field: string]: unknown
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

const PUBLISHED_FIELDS = [
  'name',
  'version',
  'description',
  'license',
  'type',
  'bin',
  'dependencies',
]
/** The program is no library, but its client is. */
const PUBLISHED_EXPORTS = {
  './client': { types: './lib/api/client/client.d.ts', default: './lib/api/client/client.js' },
  './package.json': './package.json',
}

export function manifestOf(manifest: PackageManifest): Readonly<Record<string, unknown>> {
  return {
    ...Object.fromEntries(PUBLISHED_FIELDS.map((field) => [field, manifest[field]])),
    exports: PUBLISHED_EXPORTS,
    engines: { node: ENGINES },
    optionalDependencies: manifest.optionalDependencies,
  }
}

export interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>
}

/** Paths of the packages at the top that the program needs; what is nested in one comes with it. */
export const runtimePackages = ({ packages }: LockFile): string[] =>
  Object.entries(packages)
    .filter(([path, { dev }]) => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path) && !dev)
    .map(([path]) => path)

const OWN_MODULE = /(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g

/** The text as JavaScript that refers to its neighbours as they are called in the package. */
export const withoutTypes = (text: string, strip: (text: string) => string): string =>
  strip(text).replaceAll(OWN_MODULE, '$1$2.js$1')
