import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { CsvFault, CsvReader, csvLine } from '../src/csv.ts'

async function readAll(
  text: string | Buffer,
  options?: ConstructorParameters<typeof CsvReader>[1],
): Promise<string[][]> {
  const reader = new CsvReader(Readable.from([Buffer.from(text)]), options)
  const all: string[][] = []
  for (;;) {
    const records = await reader.read(2)
    if (records.length === 0) return all
    all.push(...records)
  }
}

describe('reading CSV', () => {
  it('returns records in chunks, without byte order mark and blank lines', async () => {
    const text = '\uFEFFa,b\r\n\r\n1,"x\r\ny"\r\n2,"say ""hi"""\r\n'
    assert.deepEqual(await readAll(text), [
      ['a', 'b'],
      ['1', 'x\r\ny'],
      ['2', 'say "hi"'],
    ])
  })

  it('keeps blank lines and ragged rows on request', async () => {
    const all = await readAll('a,b\n\n1\n1,2,3\n', { keepsBlankLines: true, isRagged: true })
    assert.deepEqual(all, [['a', 'b'], [''], ['1'], ['1', '2', '3']])
  })

  it('reads a character that spans two chunks', async () => {
    const bytes = Buffer.from('a\nü\n')
    const reader = new CsvReader(Readable.from([bytes.subarray(0, 3), bytes.subarray(3)]))
    assert.deepEqual(await reader.read(9), [['a'], ['ü']])
  })

  it('reports the row as a spreadsheet counts', async () => {
    await assert.rejects(readAll('a,b\n1,2\n"3,4\n'), (error: unknown) => {
      assert.ok(error instanceof CsvFault)
      assert.equal(error.row, 3)
      assert.match(error.message, /opens a quote that is never closed/)
      return true
    })
  })
})

describe('writing CSV', () => {
  it('quotes only what needs quotes', () => {
    assert.equal(
      csvLine(['plain', 'a,b', 'say "hi"', 'x\ny', ' blank', '']),
      'plain,"a,b","say ""hi""","x\ny"," blank",\r\n',
    )
  })

  it('round-trips', async () => {
    const cells = ['a,b', '"', 'x\r\ny', ' blank ', 'ü', '']
    assert.deepEqual(await readAll(csvLine(cells)), [cells])
  })

  it('escapes formulas', () => {
    for (const cell of ['=1+1', '+1', '-1', '@sum', '\tx', '\rx', '=cmd|"/c calc"!A1']) {
      assert.ok(csvLine([cell]).startsWith(`"'`), cell)
    }
    assert.equal(csvLine(['a=b', '1-2']), 'a=b,1-2\r\n')
  })
})
