// Packages that only some settings and runbooks need. They are not installed with the program; an operator who needs one is told the one
// command that installs it where the program looks.
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import manifest from '../../../package.json' with { type: 'json' }
import { type ErrorCode, MatoolkitError, messageOf } from '../errors/errors.ts'

type Versions = Readonly<Record<string, string>>

/** A clone installs them; for the published program they are peers. */
const { optionalDependencies, peerDependencies } = manifest as {
  readonly optionalDependencies?: Versions
  readonly peerDependencies?: Versions
}
const VERSIONS: Versions = { ...optionalDependencies, ...peerDependencies }
const PROGRAM = fileURLToPath(new URL('../../..', import.meta.url))

export type PackageMissing = Extract<ErrorCode, `${string}_PACKAGE_MISSING`>

/** What `load` imports from these packages. */
export async function loadOptional<T>(
  code: PackageMissing,
  names: readonly string[],
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load()
  } catch (error) {
    const command = installCommand(names, PROGRAM)
    throw new MatoolkitError(code, { reason: reasonOf(error, names), command }, { cause: error })
  }
}

function reasonOf(error: unknown, names: readonly string[]): string {
  const message = messageOf(error)
  const missing = names.find((name) => message.includes(`Cannot find package '${name}'`))
  return missing === undefined ? message : `${missing} is not installed`
}

/** Next to the program: in the folder that has it, or globally. In a clone they come with everything else. */
export function installCommand(names: readonly string[], program: string): string {
  const modules = dirname(program.replace(/[\\/]$/, ''))
  if (basename(modules) !== 'node_modules') return `npm ci --prefix ${quoted(program)}`
  const home = dirname(modules)
  const packages = names.map((name) => `${name}@${VERSIONS[name]}`).join(' ')
  return existsSync(join(home, 'package.json'))
    ? `npm install --prefix ${quoted(home)} ${packages}`
    : `npm install --global ${packages}`
}

const quoted = (path: string): string => (/\s/.test(path) ? `"${path}"` : path)
