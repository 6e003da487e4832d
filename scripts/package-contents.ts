// What of this project is published, and in which form.

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
/** A clone brings its own Node for people with Node 20. A package would bring a second one to everybody. */
const OWN_NODE = /^node-(?:linux|darwin|win)-/
const PUBLISHED_FOR_NODE = '>=24'
/** The program is no library, but its client is. */
const PUBLISHED_EXPORTS = {
  './client': { types: './lib/api/client/client.d.ts', default: './lib/api/client/client.js' },
  './package.json': './package.json',
}

export function manifestOf(manifest: PackageManifest): Readonly<Record<string, unknown>> {
  const optional = Object.entries(manifest.optionalDependencies).filter(
    ([name]) => !OWN_NODE.test(name),
  )
  return {
    ...Object.fromEntries(PUBLISHED_FIELDS.map((field) => [field, manifest[field]])),
    exports: PUBLISHED_EXPORTS,
    engines: { node: PUBLISHED_FOR_NODE },
    ...(optional.length > 0 && { optionalDependencies: Object.fromEntries(optional) }),
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
    .filter((path) => !OWN_NODE.test(path.replace('node_modules/', '')))

const OWN_MODULE = /(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g

/** The text as JavaScript that refers to its neighbours as they are called in the package. */
export const withoutTypes = (text: string, strip: (text: string) => string): string =>
  strip(text).replaceAll(OWN_MODULE, '$1$2.js$1')
