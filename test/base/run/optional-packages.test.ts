// Packages that are not installed with the program: an operator who needs one is told the one command that installs it where it is looked for.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import manifest from '../../../package.json' with { type: 'json' }
import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import { installCommand, loadOptional } from '../../../src/base/run/optional-packages.ts'

const VERSION = manifest.optionalDependencies.tedious

describe('the command that installs a package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-optional-'))
  after(() => rmSync(folder, { recursive: true }))
  const inFolder = (name: string) => {
    const program = join(folder, name, 'node_modules', 'matoolkit')
    mkdirSync(program, { recursive: true })
    return program
  }

  it('names the folder that has the program', () => {
    const program = inFolder('own')
    writeFileSync(join(folder, 'own', 'package.json'), '{}')
    assert.equal(
      installCommand(['tedious'], program),
      `npm install --prefix ${join(folder, 'own')} tedious@${VERSION}`,
    )
  })

  it('quotes a folder with a blank', () => {
    const program = inFolder('two words')
    writeFileSync(join(folder, 'two words', 'package.json'), '{}')
    assert.match(installCommand(['tedious'], `${program}/`), /--prefix "[^"]*two words" tedious@/)
  })

  it('is global for a program that was installed globally, without a package.json next to it', () => {
    assert.equal(
      installCommand(['tedious'], inFolder('lib')),
      `npm install --global tedious@${VERSION}`,
    )
  })

  it('installs everything again in a clone', () => {
    assert.equal(installCommand(['tedious'], '/src/matoolkit/'), 'npm ci --prefix /src/matoolkit/')
  })
})

describe('a package that cannot be loaded', () => {
  const refusalOf = (load: () => Promise<unknown>) =>
    loadOptional('SOURCE_PACKAGE_MISSING', ['nobody-has-this'], load).then(
      () => assert.fail('it was loaded'),
      (error: unknown) => {
        assert.ok(error instanceof MatoolkitError)
        return [error.code, error.details.reason]
      },
    )

  it('is said to be missing in our words', async () => {
    const name: string = 'nobody-has-this'
    assert.deepEqual(await refusalOf(() => import(name)), [
      'SOURCE_PACKAGE_MISSING',
      'nobody-has-this is not installed',
    ])
  })

  it('is quoted where it is there and fails', async () => {
    const fails = () => Promise.reject(new Error('wrong architecture'))
    assert.deepEqual(await refusalOf(fails), ['SOURCE_PACKAGE_MISSING', 'wrong architecture'])
  })

  it('is handed over where it loads', async () => {
    const loaded = await loadOptional('SOURCE_PACKAGE_MISSING', ['tedious'], async () => 7)
    assert.equal(loaded, 7)
  })
})
