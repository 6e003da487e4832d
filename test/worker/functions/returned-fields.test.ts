// Which fields a step can take from a result, as its schema says.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { JsonObject } from '../../../src/base/text/json.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { factsIn } from '../../../src/worker/functions/catalogue.ts'
import { returnedFields } from '../../../src/worker/functions/returned-fields.ts'

const user = z.strictObject({ Id: z.string(), Mail: z.string().nullable() })
const tree: z.ZodType = z.strictObject({ Name: z.string(), Below: z.lazy(() => tree) })

describe('the fields of a result', () => {
  const CASES: [what: string, result: z.ZodType, fields: string[] | null][] = [
    ['an object', user, ['Id', 'Mail']],
    ['an object that drops others', z.object({ Id: z.string() }), ['Id']],
    ['an object with any others', z.looseObject({ Id: z.string() }), null],
    ['a record', z.record(z.string(), z.string()), null],
    ['an answer to a poll', z.object({ complete: z.boolean(), data: user }), ['Id', 'Mail']],
    [
      'an answer to a poll with anything',
      z.object({ complete: z.boolean(), data: z.json() }),
      null,
    ],
    [
      'an answer to a poll without data',
      z.object({ complete: z.boolean(), Id: z.string() }),
      ['complete', 'Id'],
    ],
    [
      'one of two objects',
      z.union([user, z.strictObject({ Guid: z.string() })]),
      ['Id', 'Mail', 'Guid'],
    ],
    ['an object or anything', z.union([user, z.json()]), null],
    ['an object or nothing', user.nullable(), ['Id', 'Mail']],
    ['a tree', tree, ['Name', 'Below']],
    ['true or false', z.boolean(), []],
    ['nothing', z.null(), []],
    ['anything', z.json(), null],
  ]
  for (const [what, result, fields] of CASES) {
    it(`are known of ${what}: ${fields?.join(', ') ?? 'any'}`, () => {
      const schema = z.toJSONSchema(result, { unrepresentable: 'any' }) as JsonObject
      assert.deepEqual(returnedFields(schema), fields)
    })
  }

  it('are known of every built-in function', () => {
    const open = STANDARD_FUNCTIONS.filter((one) => !factsIn(one).returns?.length)
    assert.deepEqual(
      open.map(({ name }) => name),
      [],
    )
  })
})
