import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readMembers } from '../../../src/app/demo/members.ts'

const COLUMNS = { primaryKey: 'Upn', batchTimeColumn: 'When' }
const read = (text: string) => readMembers(text, COLUMNS)

describe('a member file', () => {
  it('reads a row as a member with its data', () => {
    const text = '\ufeffUpn,Name,When\r\n a@b.c ,"Ann, ""A""",2030-03-01T20:00:00+01:00\r\n'
    assert.deepEqual(read(text), {
      members: [
        {
          key: 'a@b.c',
          startTime: new Date('2030-03-01T19:00:00Z'),
          data: { Upn: 'a@b.c', Name: 'Ann, "A"', When: '2030-03-01T20:00:00+01:00' },
        },
      ],
    })
  })

  const row = 'a@b.c,x,2030-03-01T20:00:00Z'
  const WRONG: [what: string, text: string, problems: string[]][] = [
    ['nothing at all', '', ['1 Upn: the column is missing', '1 When: the column is missing']],
    ['only a header', 'Upn,Name,When\n', ['2 Upn: the file has no members']],
    ['a column without a name', 'Upn,,When\n', ['1 2: the column has no name']],
    ['a column twice', 'Upn,upn,When\n', ['1 upn: the column appears twice']],
    [
      'an open quote',
      'Upn,Name,When\n"a\n',
      ['2 1: Quote Not Closed: the parsing is finished with an opening quote at line 2'],
    ],
    [
      'several rows, all reported',
      `Upn,Name,When\n${row}\na@B.C,x,2030-03-01T20:00:00Z\n,x,soon\nb,x\nc,x,2030-03-01T20:00:00Z,y\n`,
      [
        '3 Upn: "a@B.C" is in row 2 already',
        '4 Upn: the key is empty',
        '4 When: "soon" is not a time such as 2030-03-01T20:00:00Z',
        '5 When: the row has 2 cells, the header 3',
        '6 4: the row has 4 cells, the header 3',
      ],
    ],
  ]
  for (const [what, text, problems] of WRONG) {
    it(`is refused: ${what}`, () => {
      const answer = read(text)
      assert.ok('problems' in answer)
      const said = answer.problems.map((one) => `${one.row} ${one.column}: ${one.message}`)
      assert.deepEqual(said, problems)
    })
  }
})
