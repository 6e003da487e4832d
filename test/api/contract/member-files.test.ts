// Member files over HTTP: every accepted variant, and every defect with its row and column.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { RequestFault } from '../../../src/api/http/problem.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { csvOf, formOf, plain, wave } from './fixtures.ts'

const WAVE = 'UserPrincipalName,Aliases,Action,Site,Office'
const row = (key: string) => `${key},a;b,Go,s,o`

/** A file and its problem: row, column, part of the message. */
const WRONG: readonly [
  what: string,
  csv: string | Uint8Array<ArrayBuffer>,
  faults: readonly [number, string, RegExp][],
][] = [
  ['nothing in it', '', [[1, 'UserPrincipalName', /the column is missing/]]],
  ['a header only', csvOf(WAVE), [[2, '', /has no members/]]],
  [
    'columns missing that only a removal, a rollback or a function names',
    csvOf('UserPrincipalName,Aliases', 'a@x,b'),
    [
      [1, 'Action', /the column is missing/],
      [1, 'Site', /the column is missing/],
      [1, 'Office', /the column is missing/],
    ],
  ],
  ['a column twice', csvOf(`${WAVE},SITE`, `${row('a')},x`), [[1, 'Site', /appears twice/]]],
  ['a column without a name', csvOf(`${WAVE},`, `${row('a')},x`), [[1, '6', /has no name/]]],
  [
    'a reserved name',
    csvOf(`${WAVE},__proto__`, `${row('a')},x`),
    [[1, '__proto__', /is reserved/]],
  ],
  ['no key', csvOf(WAVE, row('a'), row(' ')), [[3, 'UserPrincipalName', /has no key/]]],
  [
    'a key twice, whatever its case and blanks, blank lines counted',
    csvOf(WAVE, row('a@x'), '', row(' A@X '), row('b@x'), row('b@x')),
    [
      [4, 'UserPrincipalName', /"A@X" is already in row 2/],
      [6, 'UserPrincipalName', /"b@x" is already in row 5/],
    ],
  ],
  ['too few cells', csvOf(WAVE, 'a,b,c'), [[2, 'Site', /has 3 cells, the header 5/]]],
  ['too many cells', csvOf(WAVE, `${row('a')},x`), [[2, '6', /has 6 cells, the header 5/]]],
  ['an open quote', csvOf(WAVE, row('a'), '"b,c'), [[3, '', /opens a quote that is never closed/]]],
  ['a NUL', csvOf(WAVE, row('a\0b')), [[1, '', /has a NUL/]]],
  ['UTF-16', new Uint8Array(Buffer.from(csvOf(WAVE, row('a')), 'utf16le')), [[1, '', /in UTF-16/]]],
  [
    'Latin-1',
    new Uint8Array(Buffer.from(csvOf(WAVE, row('jürgen')), 'latin1')),
    [[2, '', /column 1 reads "jürgen/]],
  ],
  [
    'semicolons',
    csvOf(WAVE.replaceAll(',', ';'), 'a;b;c;d;e'),
    [[1, '', /with semicolons; use commas/]],
  ],
  ['tabs', csvOf(WAVE.replaceAll(',', '\t'), 'a\tb\tc\td\te'), [[1, '', /with tabs; use commas/]]],
  [
    'a key of 600 characters',
    csvOf(WAVE, row('k'.repeat(600))),
    [[2, 'UserPrincipalName', /longer than 512/]],
  ],
]

describe('a member file', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(wave())
    await api.world.publish(plain())
  })
  after(() => api.close())
  const send = (csv: string | Uint8Array<ArrayBuffer>, runbookName = 'wave') =>
    ({ form: formOf(csv, { runbookName }) }) as const
  const path = '/api/batches'

  it('may have a byte order mark, quoted line ends, another case in its header and extra columns', async () => {
    const csv = `\uFEFF${csvOf('USERPRINCIPALNAME,aliases,ACTION,site,office,Note', '"a@x.example","x; y;;","Go","a ""b""\r\nc",o,"n,1"')}`
    const { status, body, text } = await api.call('POST', path, send(csv))
    assert.equal(status, 201, text)
    assert.deepEqual(body.warnings, ['The column "Note" is kept, but the runbook does not use it.'])
    const [member] = await api.world.db.query<{ data: unknown }>(
      'select data_json as data from batch_members',
    )
    assert.deepEqual(member!.data, {
      UserPrincipalName: 'a@x.example',
      Aliases: ['x', 'y'],
      Action: 'Go',
      Site: 'a "b"\r\nc',
      Office: 'o',
      Note: 'n,1',
    })
  })

  for (const [what, csv, expected] of WRONG) {
    it(`is refused with ${what}`, async () => {
      const { body } = await api.refused(422, 'MEMBER_ROWS_INVALID', 'POST', path, send(csv))
      const faults = body.faults as RequestFault[]
      assert.deepEqual(
        faults.slice(0, expected.length).map((one) => [one.row, one.column]),
        expected.map(([at, column]) => [at, column]),
        JSON.stringify(faults),
      )
      for (const [index, [, , said]] of expected.entries()) {
        assert.match(faults[index]!.message, said)
      }
    })
  }

  it('is refused when it is the unchanged template', async () => {
    const { text } = await api.call('GET', '/api/runbooks/wave/template')
    const { body } = await api.refused(422, 'MEMBER_ROWS_INVALID', 'POST', path, send(text))
    assert.match(body.faults![0]!.message, /the sample row of the template/)
  })

  it('lists its first hundred problems and counts all of them', async () => {
    const csv = csvOf('UserPrincipalName', ...Array.from({ length: 250 }, () => 'same@x.example'))
    const { body } = await api.refused(422, 'MEMBER_ROWS_INVALID', 'POST', path, send(csv, 'plain'))
    assert.deepEqual([body.faults!.length, body.faultCount], [100, 249])
  })

  it('has at most 200,000 rows and 50 MB', async () => {
    const many = `UserPrincipalName\n${Array.from({ length: 200_001 }, (_, at) => `u${at}`).join('\n')}`
    const { body } = await api.refused(
      422,
      'MEMBER_ROWS_INVALID',
      'POST',
      path,
      send(many, 'plain'),
    )
    assert.match(body.faults![0]!.message, /more than 200000 rows/)
    const large = new Uint8Array(50 * 1024 * 1024 + 1).fill(97)
    await api.refused(413, 'BODY_TOO_LARGE', 'POST', path, send(large, 'plain'))
  })
})
