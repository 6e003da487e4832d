import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import { fitResult, RESULT_BYTES_MAX } from '../../../src/worker/jobs/fit-result.ts'

const much = 'ü'.repeat(120_000)
const bytesOf = (value: Json) => Buffer.byteLength(JSON.stringify(value))

it('leaves a result that fits as it is', () => {
  const result = { complete: true, data: { Id: 7, Text: 'x'.repeat(150_000) } }
  assert.equal(fitResult(result), result)
})

it('cuts the largest fields and keeps the short ones, which are the outputs', () => {
  const result = fitResult({ UserId: 'a-1', Log: much, Count: 3, Raw: [much] })
  assert.deepEqual(result, {
    UserId: 'a-1',
    Count: 3,
    _cut: 'Log (240009 bytes), Raw (240011 bytes)',
  })
})

it('keeps the outputs of a polled function', () => {
  const result = fitResult({ complete: true, data: { Match: true, Log: much } })
  assert.deepEqual(result, { complete: true, data: { Match: true, _cut: 'Log (240009 bytes)' } })
})

it('names a text or a list that is gone as a whole', () => {
  assert.deepEqual(fitResult(much), { _cut: 'text of 240002 bytes' })
  assert.deepEqual(fitResult([much, 1]), { _cut: 'list of 2 items of 240006 bytes' })
})

it('fits whatever the names and the number of fields', () => {
  const many = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, index) => [`${'n'.repeat(500)}${index}`, 'x'.repeat(900)]),
  )
  assert.ok(bytesOf(fitResult(many)) <= RESULT_BYTES_MAX)
})
