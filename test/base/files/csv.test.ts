import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { CsvReader, csvLine } from '../../../src/base/files/csv.ts'
import { CsvFault } from '../../../src/base/files/csv-text.ts'

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

describe('reading a file made to be slow', () => {
  /** Processor time, the best of three: the clock on the wall also counts what others do. */
  async function timeOf(line: string, bytes: number): Promise<number> {
    const text = Buffer.from(`a,b,c\n${line.repeat(bytes / line.length)}`)
    const options = { keepsBlankLines: true, isRagged: true }
    const times: number[] = []
    for (let run = 0; run < 3; run++) {
      const before = process.cpuUsage()
      const reader = new CsvReader(Readable.from(chunksOf(text)), options)
      while ((await reader.read(1_000)).length > 0) await new Promise(setImmediate)
      times.push(process.cpuUsage(before).user / 1_000)
    }
    return Math.min(...times)
  }
  const chunksOf = (bytes: Buffer) =>
    Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, at) =>
      bytes.subarray(at * 65_536, (at + 1) * 65_536),
    )
  const MB = 1_000_000

  it('costs the same per row, whether its rows fit the header or not', async () => {
    const good = await timeOf('1,2,3\n', 375_000)
    // As many rows, and fewer cells.
    const ragged = await timeOf('1,2\n', 250_000)
    assert.ok(ragged < good * 3 + 50, `ragged ${ragged} ms, good ${good} ms`)
    const twice = await timeOf('1,2\n', 500_000)
    assert.ok(twice < ragged * 2.5 + 100, `half ${ragged} ms, all ${twice} ms`)
  })

  it('ends with a fault when one line is longer than 2 MB, even without any text', async () => {
    const reader = new CsvReader(Readable.from(chunksOf(Buffer.alloc(3 * MB, ','))))
    await assert.rejects(reader.read(1), (error: unknown) => {
      assert.ok(error instanceof CsvFault)
      assert.equal(error.row, 1)
      assert.match(error.message, /more than 2097152 bytes in line 1/)
      return true
    })
    assert.ok(reader.bytes < 3 * MB)
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
    assert.equal(csvLine(['a; b', 'x|y', '-']), `a; b,x|y,"'-"\r\n`)
  })

  it('disarms a formula behind blanks, marks and separators, and in full width', () => {
    const CELLS: [cell: string, written: string][] = [
      ['  =1', "'  =1"],
      ['\u00a0+1', "'\u00a0+1"],
      ['\0=1', "'\0=1"],
      ['\u200b\ufeff@x', "'\u200b\ufeff@x"],
      ['\n=1', "\n'=1"],
      ['a;=1', "a;'=1"],
      ['a|  -1|b', "a|  '-1|b"],
      ['a\t=1', "a\t'=1"],
      ['a\r\n\r\n+1', "a\r\n\r\n'+1"],
      ...['\uff1d', '\uff0b', '\uff0d', '\uff20'].map((s): [string, string] => [`${s}1`, `'${s}1`]),
    ]
    for (const [cell, written] of CELLS) assert.equal(csvLine([cell]), `"${written}"\r\n`, cell)
  })

  it('disarms a cell of a million line breaks in linear time', () => {
    const cell = `${'\n'.repeat(1_000_000)}=1`
    assert.ok(csvLine([cell]).endsWith(`\n'=1"\r\n`))
  })
})
