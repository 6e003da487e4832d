// CSV files in a folder, and everything that can go wrong there.
import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { ErrorCode } from '../../../src/base/errors/errors.ts'
import { openSource } from '../../../src/scheduler/sources/source.ts'
import { MANY, memberName } from './contract.ts'
import {
  dataSource,
  errorOf,
  NEVER,
  readAll,
  requireError,
  settingsOf,
  skippingClock,
} from './under-test.ts'

let root: string
let folder: string
before(() => {
  root = mkdtempSync(join(tmpdir(), 'matoolkit-csv-'))
  folder = join(root, 'drop')
  mkdirSync(folder)
})
after(() => rmSync(root, { recursive: true, force: true }))

let made = 0
/** Creates a file and returns its path below the folder. */
function file(contents: string | Uint8Array): string {
  const name = `file-${made++}.csv`
  writeFileSync(join(folder, name), contents)
  return name
}
function folderOf(files: Readonly<Record<string, string>>): string {
  const name = `folder-${made++}`
  mkdirSync(join(folder, name))
  for (const [one, contents] of Object.entries(files))
    writeFileSync(join(folder, name, one), contents)
  return name
}
const asking = (path: string) => dataSource({ path })
const settings = () => settingsOf({ folder })
const rowsOf = async (path: string) => (await readAll(asking(path), settings())).rows
const sayOf = (path: string, code: ErrorCode) => errorOf(asking(path), settings(), code)

describe('a csv file', () => {
  it('returns texts, and null for an empty field', async () => {
    const path = file('id,name,note\n1,Zoë 李 😀,\n2,"a ""b"", c\nd",x\n')
    const { columns, rows } = await readAll(asking(path), settings())
    assert.deepEqual(
      columns,
      ['id', 'name', 'note'].map((name) => ({ name, type: 'text' })),
    )
    assert.deepEqual(rows, [
      { id: '1', name: 'Zoë 李 😀', note: null },
      { id: '2', name: 'a "b", c\nd', note: 'x' },
    ])
  })

  it('may have a BOM, Windows line ends, blanks around column names, empty lines, no final newline', async () => {
    const path = file('\uFEFFid , name\r\n1,a\r\n\r\n2,b')
    assert.deepEqual(await rowsOf(path), [
      { id: '1', name: 'a' },
      { id: '2', name: 'b' },
    ])
  })

  it('may have no rows', async () => assert.deepEqual(await rowsOf(file('id,name\n')), []))

  it(`may have ${MANY} rows, which arrive in chunks`, async () => {
    const lines = Array.from({ length: MANY }, (_, at) => `${at + 1},${memberName(at + 1)}`)
    const { rows, chunks } = await readAll(
      asking(file(`id,name\n${lines.join('\n')}\n`)),
      settings(),
    )
    assert.ok(chunks >= MANY / 1_000, `${chunks} chunks`)
    const wrong = rows.findIndex(
      ({ id, name }, at) => id !== String(at + 1) || name !== memberName(at + 1),
    )
    assert.equal(wrong, -1)
  })

  const BAD: readonly (readonly [what: string, contents: string | Uint8Array, expected: RegExp])[] =
    [
      ['is empty', '', /"file-\d+\.csv" is empty/],
      ['has a row with too few fields', 'id,name\n1,a\n2\n', /row 2 \(line 3\) has another number/],
      ['has a row with too many fields', 'id,name\n1,a,b\n', /row 1 \(line 2\) has another number/],
      ['has an open quote', 'id,name\n1,"a\n2,b\n', /opens a quote that is never closed/],
      ['has a misplaced quote in its header', 'id,a"b\n1,a\n', /the header \(line 1\) has a quote/],
      ['has text behind a quote', 'id,name\n1,"a"b\n', /row 1 \(line 2\) has text behind a clos/],
      [
        'has a misplaced quote',
        'id,name\n1,a"b\n',
        /row 1 \(line 2\) has a quote inside a cell; put the cell in quotes/,
      ],
      ['holds a NUL', 'id,name\n1,a\0b\n', /has a NUL at byte 12/],
      ['is UTF-16', Buffer.from('\uFEFFid,name\n', 'utf16le'), /is in UTF-16, .*save it as UTF-8/],
      [
        'is Latin-1',
        Buffer.from('id,name\n1,Zo\xeb\n', 'latin1'),
        /is not UTF-8: row 2, column 2 reads "Zoë" in Windows-1252; save it as UTF-8/,
      ],
      ['is cut within a character', Buffer.from('id\nZoë').subarray(0, 6), /is not UTF-8/],
      ['uses semicolons', 'id;name\n1;a\n', /separates columns with semicolons; use commas/],
      [
        'has a row of more than 1 MiB',
        `id,name\n1,${'x'.repeat(1_100_000)}\n`,
        /row 1 \(line 2\) has more than 1048576 bytes/,
      ],
    ]
  for (const [what, contents, expected] of BAD) {
    it(`is refused when it ${what}`, async () => {
      assert.match(await sayOf(file(contents), 'SOURCE_FILE_INVALID'), expected)
    })
  }

  const BAD_HEADERS: readonly (readonly [header: string, expected: RegExp])[] = [
    ['id,name,Name', /the column "Name" appears twice/],
    ['id,,name', /column 2 has no name/],
    ['id,__proto__', /"__proto__" is a reserved name/],
    ['id,_batch_id', /"_batch_id" is a reserved name/],
    ['key,name', /there is no column "id"\. There are: key, name\. Name every column once/],
    [`id,${'x'.repeat(200)}`, /the name of column 2 has 200 characters/],
    [`id,${Array.from({ length: 1_000 }, (_, at) => `c${at}`)}`, /more than 1000 columns/],
  ]
  for (const [header, expected] of BAD_HEADERS) {
    it(`is refused with the header ${header.slice(0, 20)}`, async () => {
      assert.match(await sayOf(file(`${header}\n`), 'SOURCE_COLUMNS_INVALID'), expected)
    })
  }

  it('is refused with more than 200,000 rows or 50 MiB', async () => {
    const rows = file(`id\n${'1\n'.repeat(200_001)}`)
    assert.match(await sayOf(rows, 'SOURCE_FILE_INVALID'), /it has more than 200000 rows/)
    const bytes = file(Buffer.alloc(50 * 1024 * 1024 + 1, 'x'))
    assert.match(await sayOf(bytes, 'SOURCE_FILE_INVALID'), /52428801 bytes; the limit is 52428800/)
  })
})

describe('a csv file that changes', () => {
  it('is refused when it grows, shrinks, is replaced or deleted while read', async () => {
    const contents = `id\n${'1\n'.repeat(5_000)}`
    const changes: readonly ((path: string) => void)[] = [
      (path) => appendFileSync(path, '2\n'),
      (path) => writeFileSync(path, 'id\n1\n'),
      (path) => rmSync(path),
    ]
    for (const change of changes) {
      const source = asking(file(contents))
      const result = await openSource(source, settings(), NEVER)
      change(join(folder, source.path!))
      const error = await (async () => {
        for await (const _ of result.rows);
      })().catch((failure: unknown) => failure)
      const message = requireError(error, source, 'SOURCE_FILE_CHANGING', [])
      assert.match(message, /had 10003 bytes when reading began/)
      assert.match(message, /write files under a temporary name and rename them/)
    }
  })

  it('can be closed, cancelled and timed out', async () => {
    const source = asking(file(`id\n${'1\n'.repeat(5_000)}`))
    for (const [code, end] of [
      ['SOURCE_TIMED_OUT', 'ring'],
      ['SOURCE_CANCELLED', 'stop'],
    ] as const) {
      const clock = skippingClock()
      const stopping = new AbortController()
      const result = await openSource(source, settingsOf({ folder, clock }), stopping.signal)
      const error = await (async () => {
        for await (const _ of result.rows) end === 'ring' ? clock.ring() : stopping.abort()
      })().catch((failure: unknown) => failure)
      requireError(error, source, code, [])
      await result.close()
    }
  })
})

describe('a folder of csv files', () => {
  it('is read in name order, without other, hidden and open files', async () => {
    const path = folderOf({
      'b.csv': 'id\n2\n',
      'a.CSV': 'id\n1\n',
      'c.csv': 'id\n3\n',
      'readme.txt': 'x',
      '.hidden.csv': 'x',
      '~$b.csv': 'x',
      'd.csv.tmp': 'x',
    })
    assert.deepEqual(await rowsOf(path), [{ id: '1' }, { id: '2' }, { id: '3' }])
  })

  it('requires the same columns in every file and names the wrong file', async () => {
    const other = folderOf({ 'a.csv': 'id,name\n', 'b.csv': 'name,id\n' })
    const message = await sayOf(other, 'SOURCE_FILE_INVALID')
    assert.match(message, /"b\.csv" has other columns than "a\.csv"/)
    const ragged = folderOf({ 'a.csv': 'id\n1\n', 'b.csv': 'id\n1,2\n' })
    assert.match(await sayOf(ragged, 'SOURCE_FILE_INVALID'), /"b\.csv" row 1 \(line 2\)/)
  })

  it('must contain a file', async () => {
    assert.match(await sayOf(folderOf({}), 'SOURCE_FILE_INVALID'), /has no \.csv file/)
  })

  it('has limits for all files together', async () => {
    const half = `id\n${'1\n'.repeat(100_001)}`
    const message = await sayOf(folderOf({ 'a.csv': half, 'b.csv': half }), 'SOURCE_FILE_INVALID')
    assert.match(message, /it has more than 200000 rows/)
  })
})

describe('the path of a csv source', () => {
  before(() => {
    writeFileSync(join(root, 'secret.csv'), 'id\n1\n')
    symlinkSync(join(root, 'secret.csv'), join(folder, 'link.csv'))
    symlinkSync(root, join(folder, 'up'))
    symlinkSync(join(folder, 'circle.csv'), join(folder, 'circle.csv'))
    writeFileSync(join(folder, 'real.csv'), 'id\n1\n')
    symlinkSync('real.csv', join(folder, 'alias.csv'))
  })

  const BAD: readonly (readonly [path: string, expected: RegExp])[] = [
    ['../secret.csv', /its path leaves the folder/],
    ['a/../../secret.csv', /its path leaves the folder/],
    ['/etc/passwd', /its path leaves the folder/],
    ['link.csv', /a link that leaves the folder/],
    ['up/secret.csv', /a link that leaves the folder/],
    ['circle.csv', /its links form a loop/],
    ['real.csv/x.csv', /a part of its path is not a folder/],
  ]
  for (const [path, expected] of BAD) {
    it(`${path} is refused`, async () => {
      const sentence = await sayOf(path, 'SOURCE_FILE_INVALID')
      assert.match(sentence, expected)
      assert.ok(!sentence.includes(root), sentence)
    })
  }

  it('is named in full when nothing is there', async () => {
    const sentence = await sayOf('missing.csv', 'SOURCE_FILE_MISSING')
    assert.ok(sentence.includes(`there is no file or folder "${join(folder, 'missing.csv')}"`))
    assert.match(sentence, /Create it there, or correct "path" in the runbook/)
    assert.doesNotMatch(sentence, /environment variable|UTF-8/)
  })

  it('may be a link within the folder, or the folder itself', async () => {
    assert.deepEqual(await rowsOf('alias.csv'), [{ id: '1' }])
    const home = join(root, 'only')
    mkdirSync(home)
    writeFileSync(join(home, 'a.csv'), 'id\n7\n')
    const { rows } = await readAll(asking('.'), settingsOf({ folder: home }))
    assert.deepEqual(rows, [{ id: '7' }])
  })

  it('requires a configured folder that exists', async () => {
    const unset = await errorOf(asking('a.csv'), settingsOf({}), 'SOURCE_NOT_CONFIGURED')
    assert.match(unset, /is not set\. Set MATOOLKIT_SOURCE_FOLDER to the folder of the files/)
    const gone = settingsOf({ folder: join(root, 'gone') })
    const message = await errorOf(asking('a.csv'), gone, 'SOURCE_NOT_CONFIGURED')
    assert.match(message, /MATOOLKIT_SOURCE_FOLDER: there is no such file or folder/)
  })
})
