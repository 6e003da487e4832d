// Every mistake of the bug bank has its one place in the program, however the code around it is laid out.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { mutate } from '../proof/simulation/mutant-loader.ts'
import { MUTANTS } from '../proof/simulation/mutants.ts'
import { editSource, fileOf, remove, replace } from '../proof/simulation/place.ts'

const where = { in: 'send', file: 'src/send.ts' }
const SOURCE = `export const other = () => send({ attempt: 1, poll }) // send(1)
async function send(draft: Draft, step: Step): Promise<boolean> {
  if (draft.heldAt !== null) return false
  const rows = await query(\`select \${COLUMNS} from steps
    where id = $1 for update\`, [step.id])
  /* the id (not the number) */
  return publish(
    jobId({
      attempt: step.attempt,
      poll,
    }),
    rows,
  )
}
const after = (held: Draft) => held.heldAt !== null
`
const edited = (find: string, by: string, source = SOURCE) =>
  editSource(source, where, replace(find, by))

describe('a place in the program', () => {
  it('is found despite other line breaks, trailing commas, quotes and comments', () => {
    const compact = SOURCE.replace(
      /publish\([\s\S]*?rows,\n {2}\)/,
      'publish(jobId({ attempt: step.attempt, poll }), rows)',
    )
    assert.notEqual(compact, SOURCE)
    for (const source of [SOURCE, compact]) {
      assert.match(
        edited(
          'publish(jobId({ $$job, poll }), rows)',
          'publish(jobId({ $$job, poll: 0 }))',
          source,
        ),
        /return publish\(jobId\(\{ attempt: step\.attempt, poll: 0 \}\)\)/,
      )
    }
  })

  it('is found despite other local names, and keeps them', () => {
    const renamed = SOURCE.replaceAll('draft', 'changes')
    assert.match(
      edited('if ($draft.heldAt !== null) return false', 'if ($draft.ended) return'),
      /if \(draft\.ended\) return\n/,
    )
    assert.match(
      edited('if ($draft.heldAt !== null) return false', 'if ($draft.ended) return', renamed),
      /if \(changes\.ended\) return\n/,
    )
  })

  it('may be a piece of SQL', () => {
    assert.match(editSource(SOURCE, where, remove('for update')), /where id = \$1 `, \[step\.id\]/)
    assert.match(
      edited('from steps where id = $1', 'from jobs where id = $1'),
      /\} from jobs where id = \$1 for update`/,
    )
  })

  it('removes the comma of a list item with it', () => {
    assert.match(
      editSource(SOURCE, where, remove('attempt: $step.attempt')),
      /jobId\(\{\n\s+poll,\n/,
    )
  })

  it('matches one name per placeholder', () => {
    assert.throws(() => edited('$step.attempt, $step', ''), /matches 0 places/)
  })

  it('is searched only in the named function', () => {
    assert.match(
      edited('heldAt !== null', 'heldAt === null'),
      /\(held: Draft\) => held\.heldAt !== null/,
    )
  })

  it('must be unique: the error says what to do', () => {
    assert.throws(
      () => edited('step', ''),
      /"step" matches 3 places in send \(src\/send\.ts\), not one\. Make the pattern fit/,
    )
    assert.throws(() => edited('step.gone', ''), /matches 0 places/)
  })

  it('must be in a function that one file declares', () => {
    const files = ['src/bus/send.ts', 'src/engine/send.ts']
    assert.equal(fileOf({ in: 'send', under: 'src/bus/' }, files), 'src/bus/send.ts')
    assert.throws(
      () => fileOf({ in: 'send' }, files),
      /src\/bus\/send\.ts and src\/engine\/send\.ts declare send\. Say in "under" which/,
    )
    assert.throws(
      () => fileOf({ in: 'goneFunction' }),
      /nothing under src declares goneFunction\. If it has another name or folder now/,
    )
  })
})

it('knows at least 15 mistakes with different names', () => {
  const names = new Set(MUTANTS.map(({ name }) => name))
  assert.equal(names.size, MUTANTS.length)
  assert.ok(MUTANTS.length >= 15, `only ${MUTANTS.length}`)
})

for (const mutant of MUTANTS) {
  it(`has its place: ${mutant.name}`, () => {
    const text = readFileSync(new URL(`../../${fileOf(mutant)}`, import.meta.url), 'utf8')
    assert.notEqual(mutate(text, mutant), text)
  })
}
