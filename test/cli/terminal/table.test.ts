// Text widths, and tables that are too wide.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type TableColumn, tableOf } from '../../../src/cli/terminal/table.ts'
import {
  cutTo,
  padBefore,
  padTo,
  textWidth,
  wrapped,
} from '../../../src/cli/terminal/text-width.ts'

describe('the width of a text', () => {
  const WIDTHS: [text: string, width: number][] = [
    ['', 0],
    ['Ada', 3],
    ['Zoë', 3],
    ['Zoe\u0308', 3],
    ['王小明', 6],
    ['ｶﾅ', 2],
    ['한국어', 6],
    ['Ｆｕｌｌ', 8],
    ['👩‍🚀', 2],
    ['👍🏽', 2],
    ['🇩🇪', 2],
    ['☎️', 2],
    ['…—·█', 4],
    ['\u200b\u200d', 0],
  ]
  for (const [text, width] of WIDTHS) {
    it(`of "${text}" is ${width}`, () => assert.equal(textWidth(text), width))
  }

  it('decides where texts are cut and padded, never inside a character', () => {
    assert.equal(cutTo('王小明', 6), '王小明')
    assert.equal(cutTo('王小明', 5), '王小…')
    assert.equal(cutTo('王小明', 4), '王…')
    assert.equal(cutTo('a👩‍🚀b', 3), 'a…')
    assert.equal(cutTo('abc', 1), '…')
    assert.equal(padTo('王', 4), '王  ')
    assert.equal(padBefore('7', 3), '  7')
  })

  it('decides where lines break, at blanks only', () => {
    assert.deepEqual(wrapped('one two three', 8), ['one two', 'three'])
    assert.deepEqual(wrapped('  one two', 6), ['  one', 'two'])
    assert.deepEqual(wrapped('unbreakable word', 5), ['unbreakable', 'word'])
  })
})

const column = (title: string, cells: string[], more: Partial<TableColumn> = {}): TableColumn => ({
  title,
  cells,
  isNumber: false,
  isWhole: false,
  isSpare: false,
  ...more,
})
const COLUMNS: readonly TableColumn[] = [
  column('ID', ['7', '12'], { isNumber: true, isWhole: true }),
  column('MEMBER', ['ada@contoso.example', '王小明@contoso.example'], { isWhole: true }),
  column('NOTE', ['', '']),
  column('JOINED', ['2030-03-01 20:00:00Z', ''], { isWhole: true, isSpare: true }),
  column('ERROR', ['There is no licence left for her.', '']),
]
const shown = (width: number | null) => tableOf(COLUMNS, { width, paint: (_, text) => text })

describe('a table', () => {
  it('is not cut without a terminal', () => {
    assert.deepEqual(shown(null), {
      text: [
        'ID  MEMBER                  NOTE  JOINED                ERROR',
        ' 7  ada@contoso.example           2030-03-01 20:00:00Z  There is no licence left for her.',
        '12  王小明@contoso.example',
      ].join('\n'),
      omitted: [],
    })
  })

  it('drops empty columns and wraps the last one when it is too wide', () => {
    assert.deepEqual(shown(82), {
      text: [
        'ID  MEMBER                  JOINED                ERROR',
        ' 7  ada@contoso.example     2030-03-01 20:00:00Z  There is no licence left for',
        '                                                  her.',
        '12  王小明@contoso.example',
      ].join('\n'),
      omitted: [],
    })
  })

  it('omits spare columns and names them', () => {
    assert.deepEqual(shown(60), {
      text: [
        'ID  MEMBER                  ERROR',
        ' 7  ada@contoso.example     There is no licence left for',
        '                            her.',
        '12  王小明@contoso.example',
      ].join('\n'),
      omitted: ['JOINED'],
    })
  })

  it('cuts what is still too long', () => {
    const words = Array.from({ length: 40 }, (_, n) => `word${n}`).join(' ')
    const text = (cells: string[]) =>
      tableOf([column('A', cells), column('B', ['x'])], { width: 30, paint: (_, one) => one }).text
    assert.equal(text([words]), 'A                            B\nword0 word1 word2 word3 wo…  x')
    const last = [column('A', ['x']), column('B', [words])]
    assert.equal(
      tableOf(last, { width: 30, paint: (_, one) => one }).text,
      [
        'A  B',
        'x  word0 word1 word2 word3',
        '   word4 word5 word6 word7',
        '   word8 word9 word10 word11',
        '   word12 word13 word14 word1…',
      ].join('\n'),
    )
  })

  it('becomes a block per row when nothing else fits', () => {
    assert.deepEqual(shown(30), {
      text: [
        'ID      7',
        'MEMBER  ada@contoso.example',
        'JOINED  2030-03-01 20:00:00Z',
        'ERROR   There is no licence',
        '        left for her.',
        '',
        'ID      12',
        'MEMBER  王小明@contoso.example',
      ].join('\n'),
      omitted: [],
    })
  })
})
