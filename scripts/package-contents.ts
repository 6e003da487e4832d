// What of this project is published, and in which form.
import { ENGINES } from '../bin/node-version.mjs'

export interface PackageManifest {
  readonly [field: string]: unknown
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

const PUBLISHED_FIELDS = ['name', 'version', 'description', 'license', 'type', 'bin']

/** The dependencies are in the package, in the versions that were tested. What only some need is a peer: npm installs none of itself. */
export function manifestOf(manifest: PackageManifest): Readonly<Record<string, unknown>> {
  const { dependencies, optionalDependencies } = manifest
  return {
    ...Object.fromEntries(PUBLISHED_FIELDS.map((field) => [field, manifest[field]])),
    exports: { './package.json': './package.json' },
    engines: { node: ENGINES },
    dependencies,
    bundleDependencies: Object.keys(dependencies),
    peerDependencies: optionalDependencies,
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(optionalDependencies).map((name) => [name, { optional: true }]),
    ),
  }
}

/** The client for programs: a package of its own, so that who calls the API installs nothing else. */
export const clientManifestOf = ({ version, license }: PackageManifest) => ({
  name: 'matoolkit-client',
  version,
  description: 'The typed client of the admin API of matoolkit.',
  license,
  type: 'module',
  engines: { node: '>=20' },
  exports: {
    '.': { types: './client.d.ts', default: './client.js' },
    './package.json': './package.json',
  },
})

interface LockedPackage {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  /** Needed for development and by something optional. */
  readonly devOptional?: boolean
}

export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** `all` takes those that only some need, too. */
export type Needed = 'always' | 'all'

/** Paths of the packages at the top that the program needs; what is nested in one comes with it. */
export const runtimePackages = ({ packages }: LockFile, needed: Needed): string[] =>
  Object.entries(packages)
    .filter(([path]) => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path))
    .filter(([, { dev, optional, devOptional }]) =>
      needed === 'all' ? !dev : !(dev || optional || devOptional),
    )
    .map(([path]) => path)

/** What of a package never runs: types, and maps of sources that are not there. They are a third of it. */
export const isRead = (path: string): boolean => !/\.(?:map|[cm]?ts)$/.test(path)

const OWN_MODULE = /(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g

/** The text as JavaScript that refers to its neighbours as they are called in the package. */
export const withoutTypes = (text: string, strip: (text: string) => string): string =>
  strip(text).replaceAll(OWN_MODULE, '$1$2.js$1')
