// Every function in every situation: success, a second run, unfit parameters, missing objects, throttling, an expired token, a
// connection lost before or after the tenant acted, a "busy" after it acted. Each fault hits each of the function's calls in turn; the tenant's journal
// shows what really happened.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { InjectedFault } from '../../../sandbox/faults.ts'
import { M365_CATALOGUE } from '../../../src/m365/catalogue.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import type { Permissions } from '../../../src/worker/functions/catalogue.ts'
import { variants } from '../../kit/variants.ts'
import { CASES, type Case } from './cases.ts'
import { type Dialect, type Setting, within } from './setting.ts'

/** The parts of a result that the tests check. */
function requireSuccess(answer: Awaited<ReturnType<Setting['run']>>) {
  assert.equal(answer.status, 'Success', answer.error?.message)
  return answer.result
}

/** How many calls the function makes without faults. */
const callsOf = (name: string, { params }: Case): Promise<number> =>
  within({}, async ({ run, sandbox }) => {
    const before = sandbox.journal.requestsMade
    await run(name, params)
    return sandbox.journal.requestsMade - before
  })

/** Runs the test once for each call of the function, with the fault at that call. */
async function atEachCall(
  name: string,
  one: Case,
  fault: InjectedFault['kind'],
  tell: (setting: Setting, call: string) => Promise<void>,
): Promise<void> {
  const calls = await callsOf(name, one)
  assert.ok(calls > 0)
  for (let nth = 1; nth <= calls; nth++) {
    await within({}, async (setting) => {
      setting.sandbox.setFaults({ script: [{ on: '*', nth, fault }] })
      await tell(setting, `${fault} at call ${nth} of ${calls}`)
    })
  }
}

interface Incomplete {
  readonly complete: boolean
  readonly data: { readonly Reason: string }
}

/** By name; their JSON Schemas. */
function parametersOf(name: string): object {
  const found = M365_CATALOGUE.functions.find((one) => one.name === name)
  if (!found) throw new Error(`${name} is not in src/m365/standard-functions.json: npm run docs`)
  return (found.parameters as unknown as { properties: object }).properties
}

const twice = <T>(list: readonly T[]): T[] => [...list, ...list]

describe('the table of cases', () => {
  it('has a row for every function and none for others', () => {
    assert.deepEqual(Object.keys(CASES).sort(), STANDARD_FUNCTIONS.map(({ name }) => name).sort())
  })
})

/** Every form in which Exchange was seen to say "not found". */
const FORMS: readonly Dialect[] = [
  { notFound: '404' },
  { notFound: '400' },
  { notFound: '500' },
  { notFound: 'text' },
]
const dialectsOf = ({ exchange }: Permissions): readonly Dialect[] =>
  exchange ? variants(FORMS) : FORMS.slice(0, 1)

for (const { name, isIdempotent, result: schema, permissions } of STANDARD_FUNCTIONS) {
  const one = CASES[name]
  if (!one) continue
  const { params, gives, again, effects, isRepeated } = one

  describe(name, () => {
    for (const dialect of dialectsOf(permissions))
      it(`succeeds, with objects created a moment ago too, and returns its declared result (${JSON.stringify(dialect)})`, () =>
        within({ lagSec: 3, dialect }, async (setting) => {
          const result = requireSuccess(await setting.run(name, params))
          assert.partialDeepStrictEqual(result, gives)
          assert.deepEqual(schema.parse(result), result)
          assert.deepEqual(setting.effects(), effects)
        }))

    it(
      isRepeated ? 'does it again when it is run again' : 'does nothing when it is run again',
      () =>
        within({}, async (setting) => {
          const first = requireSuccess(await setting.run(name, params)) as object
          const second = requireSuccess(await setting.run(name, params)) as object
          assert.deepEqual(second, { ...first, ...again })
          assert.deepEqual(setting.effects(), isRepeated ? twice(effects) : effects)
        }),
    )

    it('succeeds with the permissions that it declares', () =>
      within({ permissions }, async (setting) => {
        assert.partialDeepStrictEqual(requireSuccess(await setting.run(name, params)), gives)
      }))

    it('refuses unfit parameters before any call', () =>
      within({}, async (setting) => {
        const before = setting.sandbox.journal.requestsMade
        for (const wrong of [{ ...params, ...one.wrong }, { ...params, Unknown: 1 }, {}]) {
          const { status, error } = await setting.run(name, wrong)
          assert.deepEqual([status, error?.type], ['Failure', 'UnfitParameters'])
        }
        assert.equal(setting.sandbox.journal.requestsMade, before)
      }))

    const { missing } = one
    for (const dialect of missing ? dialectsOf(permissions) : [])
      it(`names what is missing and changes nothing; a test is incomplete, not failed (${JSON.stringify(dialect)})`, () =>
        within({ dialect }, async (setting) => {
          const { status, error, result } = await setting.run(name, {
            ...params,
            ...missing!.params,
          })
          const isTest = name.startsWith('Test-')
          assert.equal(status, isTest ? 'Success' : 'Failure')
          if (isTest) {
            const { complete, data } = schema.parse(result) as unknown as Incomplete
            assert.equal(complete, false)
            assert.match(data.Reason, missing!.says)
          } else {
            assert.match(error!.message, missing!.says)
            assert.equal(error!.effect, 'none', 'there is nothing to roll back')
          }
          assert.deepEqual(setting.effects(), [])
        }))

    if (missing && 'Expected' in parametersOf(name))
      it('is incomplete for something missing even when it expects no match', () =>
        within({}, async ({ run }) => {
          const given = { ...params, ...missing.params, Expected: false }
          const { complete } = requireSuccess(await run(name, given)) as unknown as Incomplete
          assert.equal(complete, false)
        }))

    it('obeys Retry-After when the tenant is busy', () =>
      atEachCall(name, one, 'throttle', async (setting, call) => {
        const before = setting.clock.waitedMs()
        const result = requireSuccess(await setting.run(name, params))
        assert.partialDeepStrictEqual(result, gives, call)
        assert.deepEqual(setting.effects(), effects, call)
        assert.ok(setting.clock.waitedMs() - before >= 5_000, call)
      }))

    it('continues with a new token when its token expires', () =>
      atEachCall(name, one, 'expired-token', async (setting, call) => {
        const result = requireSuccess(await setting.run(name, params))
        assert.partialDeepStrictEqual(result, gives, call)
        assert.deepEqual(setting.effects(), effects, call)
      }))

    for (const [fault, when] of [
      ['drop-after', 'the connection breaks after the tenant acted'],
      ['error-after', 'the tenant acted and answers 503'],
    ] as const)
      it(`acts once when ${when}`, () =>
        atEachCall(name, one, fault, async (setting, call) => {
          const { result, error } = await setting.run(name, params)
          // A read before the sending is repeated like any other.
          if (isIdempotent || error === null)
            assert.partialDeepStrictEqual(result, gives, `${call}: ${error?.message}`)
          else {
            assert.match(error!.message, /may have been done/, call)
            assert.equal(error!.effect, 'possible', call)
          }
          const left = setting.effects()
          const isAllowed = isIdempotent && isRepeated && left.length === twice(effects).length
          if (!isAllowed) assert.deepEqual(left, effects, call)
        }))

    it('acts once when the connection breaks before the tenant acted, at the latest on the next run', () =>
      atEachCall(name, one, 'drop-before', async (setting, call) => {
        const { status, error } = await setting.run(name, params)
        if (status === 'Failure') {
          assert.match(error!.message, /may have been done/, call)
          assert.equal(error!.effect, 'possible', call)
          const done = setting.effects()
          assert.deepEqual(done, effects.slice(0, done.length), call)
          assert.ok(done.length < effects.length, call)
          requireSuccess(await setting.run(name, params))
        }
        assert.deepEqual(setting.effects(), effects, call)
      }))
  })
}
