// What npm brings: packages with a hash, from the registry that npm is set to, under licences that allow any use, and nothing that runs
// while the program is installed. Known vulnerabilities and signatures are asked for by the pipeline, which reaches npm's database.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ROOT } from '../kit/processes.ts'

/** They ask for their notice, or for nothing. */
const ANY_USE = new Set(['0BSD', 'Apache-2.0', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense'])
/** They ask for no notice. */
const WITHOUT_NOTICE = new Set(['0BSD', 'Unlicense'])
/** node-forge, used under the first of its two. */
const CHOSEN = new Map([['(BSD-3-Clause OR GPL-2.0)', 'BSD-3-Clause']])
/** Only for tests and checks: they are not passed on. */
const FOR_DEVELOPMENT = new Set(['MIT OR Apache-2.0', 'MPL-2.0', 'PSF-2.0', 'Python-2.0'])

interface LockedPackage {
  readonly version?: string
  readonly license?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
}

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, LockedPackage>
}
const locked = Object.entries(packages).filter(([path]) => path !== '')

const namesOf = (matches: (entry: LockedPackage) => boolean): string[] =>
  locked.filter(([, entry]) => matches(entry)).map(([path, { license }]) => `${path} (${license})`)

describe('packages', () => {
  it('have a hash, and no address of a registry', () => {
    assert.ok(locked.length > 100)
    assert.deepEqual(
      namesOf(
        ({ integrity = '', resolved }) =>
          !integrity.startsWith('sha512-') || resolved !== undefined,
      ),
      [],
    )
  })

  it('that the program contains may be used by anybody', () => {
    const isFree = (license = '') => ANY_USE.has(CHOSEN.get(license) ?? license)
    assert.deepEqual(
      namesOf(({ dev, license }) => !dev && !isFree(license)),
      [],
    )
    assert.deepEqual(
      namesOf(
        ({ dev, license = '' }) =>
          dev === true && !isFree(license) && !FOR_DEVELOPMENT.has(license),
      ),
      [],
    )
  })

  it('that the dashboard contains may be used by anybody, and their notices are shipped with it', () => {
    const notices = JSON.parse(
      readFileSync(join(ROOT, 'dashboard/dist/licenses.json'), 'utf8'),
    ) as { name: string; version: string; identifier: string; text?: string }[]
    assert.ok(notices.some(({ name }) => name === 'react-dom'))
    for (const { name, version, identifier, text = '' } of notices) {
      assert.equal(packages[`node_modules/${name}`]?.version, version, name)
      assert.ok(ANY_USE.has(identifier), `${name}: ${identifier}`)
      if (!WITHOUT_NOTICE.has(identifier)) assert.match(text, /permission|licen[sc]e/i, name)
    }
  })

  it('that the program contains run nothing while they are installed', () => {
    assert.deepEqual(
      namesOf(({ dev, hasInstallScript }) => !dev && hasInstallScript === true),
      [],
    )
  })
})
