// Answers in each format, and prompts.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { contextOf } from '../../../src/cli/program/command-context.ts'
import { confirm } from '../../../src/cli/terminal/prompt.ts'
import { type Column, makeShow, type OutputFormat } from '../../../src/cli/terminal/show.ts'
import { changesBetween, withContext } from '../../../src/cli/terminal/text-diff.ts'
import { type RecordingOptions, recordingIo } from '../recording-io.ts'

const ROWS = [
  {
    id: 7,
    name: 'ada\u001b[2J',
    status: 'failed',
    at: '2030-03-01T20:00:00.000Z',
    counts: { bad: 1 },
  },
  { id: 12, name: '=1+1', status: 'completed', at: null, counts: { bad: 30 } },
]
const COLUMNS: readonly Column<(typeof ROWS)[number]>[] = [
  ['ID', 'id'],
  ['NAME', 'name'],
  ['STATUS', 'status'],
  ['AT', 'at'],
  ['BAD', 'counts.bad'],
  ['MADE', ({ id }) => `no. ${id}`],
]

async function shown(format: OutputFormat, options: RecordingOptions = {}): Promise<string> {
  const io = recordingIo(options)
  const listing = { whole: { rows: ROWS }, rows: ROWS, columns: COLUMNS, empty: 'None.' }
  await makeShow(format, io).list(listing)
  return io.outText()
}

describe('answers', () => {
  it('are tables with right-aligned numbers, short times and no control characters', async () => {
    assert.equal(
      await shown('table'),
      [
        'ID  NAME          STATUS     AT                         BAD  MADE',
        ' 7  ada\\u001b[2J  failed     Fri 01 Mar 2030 20:00 UTC    1  no. 7',
        '12  =1+1          completed                              30  no. 12',
        '',
      ].join('\n'),
    )
  })

  it('fit the terminal, and are coloured only there', async () => {
    for (const width of [120, 60, 50]) {
      const text = await shown('table', { width })
      const widest = Math.max(...text.split('\n').map((line) => line.length))
      assert.ok(widest <= width, `${widest} of ${width}`)
    }
    assert.match(await shown('table', { colour: true }), /<red>failed +<\/red>/)
  })

  it('are complete for programs', async () => {
    assert.deepEqual(JSON.parse(await shown('json')), { rows: ROWS })
    assert.deepEqual(parse(await shown('yaml')), { rows: ROWS })
  })

  it('are complete CSV that no spreadsheet executes', async () => {
    assert.equal(
      await shown('csv'),
      [
        'ID,NAME,STATUS,AT,BAD,MADE',
        '7,ada\u001b[2J,failed,2030-03-01T20:00:00.000Z,1,no. 7',
        '12,"\'=1+1",completed,,30,no. 12',
        '',
      ].join('\r\n'),
    )
  })

  it('say when there are no rows', async () => {
    const io = recordingIo()
    const listing = { whole: {}, rows: [], columns: COLUMNS, empty: 'None.' }
    await makeShow('table', io).list(listing)
    assert.equal(io.outText(), 'None.\n')
  })
})

describe('questions', () => {
  const ask = async (members: number, options: RecordingOptions, yes?: true) => {
    const io = recordingIo(options)
    const context = contextOf({ output: 'table', ...(yes && { yes }) }, io)
    try {
      await confirm(context, { what: 'It ends.', members })
      return 'done'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  const CASES: [members: number, options: RecordingOptions, yes: true | undefined, ends: string][] =
    [
      [100, { answers: ['y'] }, undefined, 'done'],
      [100, { answers: ['YES'] }, undefined, 'done'],
      [100, { answers: [''] }, undefined, 'CONFIRMATION_REFUSED'],
      [101, { answers: ['y'] }, undefined, 'CONFIRMATION_REFUSED'],
      [101, { answers: ['100'] }, undefined, 'CONFIRMATION_REFUSED'],
      [101, { answers: ['101'] }, undefined, 'done'],
      [101, {}, undefined, 'CONFIRMATION_NEEDED'],
      [101, {}, true, 'done'],
    ]
  for (const [members, options, yes, ends] of CASES) {
    it(`${members} members, ${options.answers ?? (yes ? '--yes' : 'nobody')}: ${ends}`, async () => {
      assert.equal(await ask(members, options, yes), ends)
    })
  }
})

describe('differences of texts', () => {
  const marks = { same: ' ', removed: '-', added: '+' }
  const diff = (before: string, after: string) =>
    withContext(changesBetween(before, after)).map((c) => (c ? marks[c.kind] + c.line : '…'))

  it('are the fewest lines, with three lines around them', () => {
    const lines = ['1', '2', '3', '4', '5', '6', '7', '8', '9']
    const changed = lines.map((line) => (line === '5' ? 'five' : line))
    assert.deepEqual(diff(lines.join('\n'), changed.join('\n')), [
      '…',
      ' 2',
      ' 3',
      ' 4',
      '-5',
      '+five',
      ' 6',
      ' 7',
      ' 8',
      '…',
    ])
    assert.deepEqual(diff('a', 'a\nb'), [' a', '+b'])
    assert.deepEqual(diff('a\nb', 'b'), ['-a', ' b'])
    assert.deepEqual(diff('same', 'same'), ['…'])
  })

  it('of texts with nothing in common are both in full', () => {
    const many = (letter: string) => Array.from({ length: 3_000 }, (_, n) => letter + n).join('\n')
    assert.equal(changesBetween(many('a'), many('b')).length, 6_000)
  })
})
