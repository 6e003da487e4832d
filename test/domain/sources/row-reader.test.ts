import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import type { DataSource } from '../../../src/domain/runbook/model.ts'
import { columnsProblem, rowReader } from '../../../src/domain/sources/row-reader.ts'
import {
  type ColumnType,
  exactNumber,
  floatNumber,
  jsonValue,
  type SourceRow,
} from '../../../src/domain/sources/source-values.ts'

const SOURCE: DataSource = {
  type: 'csv',
  connection: null,
  warehouseId: null,
  path: 'a.csv',
  query: null,
  primaryKey: 'id',
  batchTimeColumn: 'at',
  timeZone: null,
  columns: null,
  multiValuedColumns: [
    { name: 'semicolons', format: 'semicolon_delimited' },
    { name: 'commas', format: 'comma_delimited' },
    { name: 'json', format: 'json_array' },
  ],
}
const AT = '2026-03-01T09:30:00Z'
const columnsOf = (names: readonly string[], type: ColumnType = 'text') =>
  names.map((name) => ({ name, type }))
const COLUMNS = columnsOf(['id', 'at', 'semicolons', 'commas', 'json'])

const read = (row: SourceRow, source: Partial<DataSource> = {}, columns = COLUMNS) =>
  rowReader({ ...SOURCE, ...source }, columns)({ id: 'a', at: AT, ...row })
function memberOf(row: SourceRow, source: Partial<DataSource> = {}, columns = COLUMNS) {
  const found = read(row, source, columns)
  assert.ok('member' in found, JSON.stringify(found))
  return found.member
}
function problemOf(row: SourceRow, source: Partial<DataSource> = {}) {
  const found = read(row, source)
  assert.ok('problem' in found, JSON.stringify(found))
  return found.problem
}

describe('a row becomes a member', () => {
  it('with key, time and data', () => {
    assert.deepEqual(memberOf({ id: '  Ann@x.org ', name: 'Zoë', n: 1, none: null }), {
      key: 'Ann@x.org',
      time: new Date(AT),
      data: {
        id: 'Ann@x.org',
        at: AT,
        name: 'Zoë',
        n: 1,
        none: null,
        semicolons: [],
        commas: [],
        json: [],
      },
    })
  })

  it('from columns in any case, with or without blanks around the name', () => {
    const columns = columnsOf(['ID', ' At ', 'Semicolons', 'COMMAS', 'json'])
    const row = { ID: ' a ', ' At ': AT, Semicolons: 'x; y', COMMAS: null, json: '[1]' }
    assert.deepEqual(rowReader(SOURCE, columns)(row), {
      member: {
        key: 'a',
        time: new Date(AT),
        data: { ID: 'a', ' At ': AT, Semicolons: ['x', 'y'], COMMAS: [], json: [1] },
      },
    })
  })

  it('with a number or a boolean as key', () => {
    assert.equal(memberOf({ id: 7 }).key, '7')
    assert.equal(memberOf({ id: 0 }).key, '0')
    assert.equal(memberOf({ id: false }).key, 'false')
  })

  it('without a time for an immediate runbook', () => {
    assert.equal(memberOf({ at: 'whenever' }, { batchTimeColumn: null }).time, null)
  })

  it('at midnight in the time zone for days; in UTC for typed days without a zone', () => {
    const days = [...COLUMNS.filter(({ name }) => name !== 'at'), ...columnsOf(['at'], 'date')]
    const row = { at: '2026-03-01' }
    assert.deepEqual(memberOf(row, {}, days).time, new Date('2026-03-01T00:00:00Z'))
    const berlin = { timeZone: 'Europe/Berlin' }
    assert.deepEqual(memberOf(row, berlin, days).time, new Date('2026-02-28T23:00:00Z'))
    assert.match(problemOf(row).reason, /has no time zone/)
  })

  it('without changing the row', () => {
    const row = Object.freeze({ id: 'a', at: AT, semicolons: 'x;y' })
    memberOf(row)
    assert.equal(row.semicolons, 'x;y')
  })
})

describe('multi-valued columns', () => {
  const LISTS: readonly (readonly [column: string, value: Json, list: Json[]])[] = [
    ['semicolons', 'a; b ;;c;', ['a', 'b', 'c']],
    ['semicolons', ' ', []],
    ['semicolons', ';', []],
    ['semicolons', 'SMTP:a@x.org;smtp:b,c@x.org', ['SMTP:a@x.org', 'smtp:b,c@x.org']],
    ['commas', 'a,b; c', ['a', 'b; c']],
    ['commas', 7, ['7']],
    ['json', '["a", 1, null]', ['a', 1, null]],
    ['json', ' [] ', []],
    ['json', '', []],
    ['json', null, []],
    ['json', ['already', 'a list'], ['already', 'a list']],
    ['commas', ['already', 'a list'], ['already', 'a list']],
  ]
  for (const [column, value, list] of LISTS) {
    it(`${column}: ${JSON.stringify(value)}`, () => {
      assert.deepEqual(memberOf({ [column]: value }).data[column], list)
    })
  }

  for (const value of ['a;b', '{"a": 1}', '"a"', '[1', 'null', '7']) {
    it(`json: reports ${value}`, () => {
      const { key, column, reason } = problemOf({ json: value })
      assert.deepEqual([key, column, reason], ['a', 'json', `"${value}" is not a JSON array`])
    })
  }
})

describe('an unusable row', () => {
  const BAD: readonly (readonly [SourceRow, column: string, reason: RegExp])[] = [
    [{ id: null }, 'id', /^it has no key$/],
    [{ id: ' \t ' }, 'id', /^it has no key$/],
    [{ id: ['a'] }, 'id', /^"\["a"\]" is not a key/],
    [{ id: 'x'.repeat(600) }, 'id', /^the key "x{60}…" is longer than 512 characters$/],
    [{ at: null }, 'at', /^it has no time$/],
    [{ at: 'soon' }, 'at', /^"soon" is not a valid time/],
    [{ at: '2026-03-01 09:30' }, 'at', /has no time zone/],
    [{ name: 'a\0b' }, 'name', /^it contains a NUL character$/],
    [{ name: 'a\ud800b' }, 'name', /^it contains half a character/],
    [{ json: '["\\u0000"]' }, 'json', /^it contains a NUL character$/],
    [{ deep: { 'a\0': [1] } }, 'deep', /^it contains a NUL character$/],
    [{ name: 'x'.repeat(262_145) }, 'name', /^the row exceeds 262144 characters/],
  ]
  for (const [row, column, reason] of BAD) {
    it(`${JSON.stringify(row).slice(0, 50)}`, () => {
      const problem = problemOf(row)
      assert.equal(problem.column, column)
      assert.match(problem.reason, reason)
      assert.equal(problem.key, column === 'id' ? null : 'a')
    })
  }

  it('is not one that only looks invalid', () => {
    assert.equal(memberOf({ name: '\\u0000 \\ud800', j: { a: '\\u0000' } }).key, 'a')
  })

  it('has a time that the time zone skips', () => {
    const row = { at: '2026-03-29 02:30' }
    const { reason } = problemOf(row, { timeZone: 'Europe/Berlin' })
    assert.match(reason, /^"2026-03-29 02:30" does not exist in Europe\/Berlin/)
  })
})

describe('the columns of a result', () => {
  const needed = { ...SOURCE, batchTimeColumn: null, multiValuedColumns: [] }
  const CASES: readonly (readonly [string[], RegExp | null])[] = [
    [['id', 'name'], null],
    [[], /^there are no columns$/],
    [['id', ' '], /^column 2 has no name$/],
    [['id', 'ID'], /^the column "ID" appears twice$/],
    [['id', 'constructor'], /^"constructor" is a reserved name$/],
    [['id', '_Batch_Start_Time'], /reserved/],
    [['Id', 'name'], null],
    [['id', ' ID '], /^the column " ID " appears twice$/],
    [['idd', 'name'], /^there is no column "id"\. Did you mean "idd"\?$/],
  ]
  for (const [names, said] of CASES) {
    it(`${names}`, () => {
      const problem = columnsProblem(columnsOf(names), needed)
      if (said === null) assert.equal(problem, null)
      else assert.match(problem ?? '', said)
    })
  }

  it('must include all that the runbook names', () => {
    const only = columnsOf(['id', 'at', 'semicolons', 'commas'])
    assert.match(columnsProblem(only, SOURCE) ?? '', /no column "json"/)
    assert.match(columnsProblem(columnsOf(['id']), SOURCE) ?? '', /no column "at"/)
    const declared = { ...needed, columns: ['id', 'mail'] }
    assert.match(columnsProblem(columnsOf(['id']), declared) ?? '', /no column "mail"/)
  })
})

describe('values', () => {
  const NUMBERS: readonly (readonly [text: string, json: Json])[] = [
    ['0', 0],
    ['-0', 0],
    ['12.50', 12.5],
    ['-0.1', -0.1],
    ['123456789012345', 123_456_789_012_345],
    ['9007199254740991', 9_007_199_254_740_991],
    ['9007199254740993', '9007199254740993'],
    ['1234567890.12345', 1_234_567_890.12345],
    ['1234567890.123456', '1234567890.123456'],
    ['0.000000000000000000001', 1e-21],
    ['100000000000000000000', 100_000_000_000_000_000_000],
    ['1E+3', 1_000],
    ['1e400', '1e400'],
    ['NaN', 'NaN'],
    ['', ''],
    ['0x10', '0x10'],
  ]
  for (const [text, json] of NUMBERS)
    it(`the number ${text} is ${JSON.stringify(json)}`, () =>
      assert.deepEqual(exactNumber(text), json))

  it('a number survives digit by digit', () => {
    for (let digits = 1; digits <= 15; digits++) {
      const text = `0.${'9'.repeat(digits)}`
      assert.equal(String(exactNumber(text)), text)
    }
  })

  it('NaN and infinities become their names', () => {
    assert.deepEqual([Number.NaN, Number.POSITIVE_INFINITY, -0, 0.1].map(floatNumber), [
      'NaN',
      'Infinity',
      0,
      0.1,
    ])
  })

  it('invalid JSON stays text', () => {
    assert.deepEqual(jsonValue('{"a":[1]}'), { a: [1] })
    assert.equal(jsonValue('{a'), '{a')
  })
})
