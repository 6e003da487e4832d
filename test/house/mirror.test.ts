// A test stands where the code stands that it tests: if you know one path you know the other.
import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { describe, it } from 'node:test'

/** Folders of test/ that mirror no folder of src. */
const OWN = ['fixtures', 'house', 'kit', 'proof', 'sandbox', 'stories']

/** What a file of any room may be about. */
const NOUNS =
  'runbook batch member step source review worker hold window gate ramp undo forecast notification message rehearsal audit evidence retention restore dead-letter event function report status'.split(
    ' ',
  )
const NOUN = new RegExp(`(?:^|-)(?:${NOUNS.join('|')})(?:e?s)?(?:-|$)`)

/** Tests that are about a whole room. */
const WHOLE: Readonly<Record<string, string>> = {
  'test/api/contract.test.ts':
    'every endpoint, and at the end whether every declared answer was seen',
  'test/api/contract/actions.test.ts': 'the actions on batches, members and steps',
  'test/bus/servicebus/broker.test.ts': 'the broker of the tests, against the real SDK',
  'test/cli/commands/operator.test.ts': 'what an operator does besides batches',
  'test/db/schema/checks.test.ts': 'the CHECKs of sql/',
  'test/domain/decide/random-course.test.ts': 'all decisions in random order',
  'test/domain/needs/decisions.test.ts': 'what is taken or accepted, among all needs',
  'test/domain/sources/detection.test.ts': 'joiners, leavers and moves together',
  'test/m365/functions/requests.test.ts': 'every call of every function',
  'test/m365/functions/situations.test.ts': 'every function in every situation',
}

const nameOf = (path: string) => basename(path).replace(/(?:\.test)?\.tsx?$/, '')

/** Named for a file or folder at the same place, with more words or without. */
function hasCounterpart(path: string): boolean {
  const folder = dirname(path)
    .replace('test/api/contract', 'test/api/routes')
    .replace(/^test/, 'src')
  const name = nameOf(path)
  const names = existsSync(folder) ? readdirSync(folder).map(nameOf) : []
  return names.some((one) => name === one || name.startsWith(`${one}-`)) || NOUN.test(name)
}

describe('the tests', () => {
  const rooms = readdirSync('src', { withFileTypes: true }).filter((one) => one.isDirectory())

  it('are in the rooms of src, or in a folder that has a purpose of its own', () => {
    const known = [...rooms.map(({ name }) => name), ...OWN]
    assert.deepEqual(
      readdirSync('test', { withFileTypes: true })
        .filter((one) => one.isDirectory() && !known.includes(one.name))
        .map(({ name }) => name),
      [],
    )
  })

  it('of a room stand at the place of what they test', () => {
    const tests = rooms.flatMap(({ name }) => globSync(`test/${name}/**/*.test.ts`))
    const astray = tests
      .map((path) => path.replaceAll('\\', '/'))
      .filter((path) => !hasCounterpart(path))
    assert.deepEqual(astray.toSorted(), Object.keys(WHOLE).toSorted())
  })

  it('would be missed at another place', () => {
    assert.equal(hasCounterpart('test/engine/transactions/locking-order.test.ts'), true)
    assert.equal(hasCounterpart('test/engine/transactions/outbox.test.ts'), false)
    assert.equal(hasCounterpart('test/engine/outbox.test.ts'), false)
  })
})
