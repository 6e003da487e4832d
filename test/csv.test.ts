import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { CsvReader, csvLine } from '../src/csv.ts'
import { CsvFault } from '../src/csv-text.ts'

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

describe('a file that is not UTF-8 with commas', () => {
  const TEXT = 'Upn,Name\r\na@x,Ann\r\nb@x,Müller\r\n'
  const bom = (text: string) => `\uFEFF${text}`
  const swapped = (text: string) => Buffer.from(text, 'utf16le').swap16()
  const latin = (text: string) => Buffer.from(text, 'latin1')
  const BAD: [what: string, bytes: Buffer, row: number | null, says: RegExp][] = [
    ['UTF-16', Buffer.from(bom(TEXT), 'utf16le'), 1, /^is in UTF-16, .*"CSV UTF-8"/],
    ['UTF-16, the other order', swapped(bom(TEXT)), 1, /^is in UTF-16/],
    ['UTF-16 without a mark', Buffer.from(TEXT, 'utf16le'), 1, /^is in UTF-16/],
    ['UTF-16 without a mark, the other order', swapped(TEXT), 1, /^is in UTF-16/],
    [
      'Windows-1252',
      latin(TEXT),
      3,
      /^is not UTF-8: row 3, column 2 reads "Mü(?:ller)?" in Windows-1252; save it as UTF-8/,
    ],
    ['Windows-1252 in the header', latin('Größe,Upn\n1,2\n'), 1, /row 1, column 1 reads "Größe"/],
    ['Windows-1252 in quotes', latin('a,b\n"x,y","ü"\n'), 2, /row 2, column 2 reads "ü"/],
    ['the euro sign', Buffer.from([...latin('a,b\n1,'), 0x80, 10]), 2, /column 2 reads "€"/],
    [
      'semicolons',
      Buffer.from('Upn;Name\na@x;Ann\n'),
      1,
      /^separates columns with semicolons; use/,
    ],
    ['semicolons and a comma', Buffer.from('Upn;Name, first;Id\n'), 1, /with semicolons/],
    ['tabs', Buffer.from('Upn\tName\na@x\tAnn\n'), 1, /^separates columns with tabs; use commas/],
    ['a NUL', Buffer.from('Upn,Name\na@x,A\0nn\n'), null, /^has a NUL at byte 15; remove it/],
    ['half a character', Buffer.from('a\nü').subarray(0, 3), 2, /ends within a character/],
  ]
  for (const [what, bytes, row, says] of BAD) {
    it(`is refused with the place and the way out: ${what}`, async () => {
      for (const size of [bytes.length, 5]) {
        // In parts too: files arrive in chunks of any size.
        const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        )
        const reader = new CsvReader(Readable.from(parts))
        const readToEnd = async () => {
          while ((await reader.read(1)).length > 0);
        }
        await assert.rejects(readToEnd(), (error: unknown) => {
          assert.ok(error instanceof CsvFault, String(error))
          assert.match(error.message, says)
          assert.equal(error.row, row)
          return true
        })
      }
    })
  }

  it('is not seen in a comma file whose values have semicolons, tabs and bars', async () => {
    const text = 'Upn,Groups\na@x,"A;B;C\tD|E|F"\n'
    assert.equal((await readAll(text)).length, 2)
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
