// The examples of the sandbox in docs/rehearsal.md work.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { FAULT_KINDS, faultsSchema } from '../../sandbox/faults.ts'
import { stateOf } from '../../sandbox/seed.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/rehearsal.md'), 'utf8')
const [, text = ''] = page.split('\n## The sandbox\n')
const [seed, faults] = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(
  ([, json]) => JSON.parse(json!) as unknown,
)

describe('the sandbox in docs/rehearsal.md', () => {
  it('shows a valid seed', () => {
    const [contoso, fabrikam] = stateOf(seed).tenants
    assert.deepEqual(
      [contoso!.users.length, contoso!.groups[0]!.members],
      [2, [contoso!.users[0]!.id]],
    )
    assert.deepEqual(fabrikam!.applications[0]!.roles, ['User.Read.All'])
  })

  it('shows valid faults', () => {
    assert.equal(faultsSchema.parse(faults).script.length, 3)
  })

  it('explains every kind of fault', () => {
    const explained = [...text.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, kind]) => kind)
    assert.deepEqual(
      explained.filter((kind) => FAULT_KINDS.some((one) => one === kind)),
      [...FAULT_KINDS],
    )
  })
})
