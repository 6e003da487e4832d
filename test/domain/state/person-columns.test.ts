import assert from 'node:assert/strict'
import { it } from 'node:test'
import { personColumns } from '../../../src/domain/state/person-columns.ts'

it('a person has the name and the department of the data source, however its columns are written', () => {
  const CASES = [
    [{ DisplayName: 'Ada Lovelace', Department: 'IT' }, 'Ada Lovelace', 'IT'],
    [{ display_name: ' Ada ', dept: 'IT' }, 'Ada', 'IT'],
    [{ 'Given Name': 'Ada', Surname: 'Lovelace' }, 'Ada Lovelace', null],
    [{ DisplayName: '', Name: 'ada' }, 'ada', null],
    [{ Number: 7, Department: 9 }, null, null],
    [{}, null, null],
  ] as const
  for (const [data, name, department] of CASES)
    assert.deepEqual(personColumns(data), { name, department })
})
