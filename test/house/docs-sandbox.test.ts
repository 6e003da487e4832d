// docs/sandbox.md matches the sandbox, and its examples work.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { FAULT_KINDS, faultsSchema } from '../../sandbox/faults.ts'
import { stateOf } from '../../sandbox/seed.ts'
import { expectedText } from '../../scripts/docs.ts'
import { SANDBOX_DOCUMENTS } from '../../scripts/docs-sandbox.ts'

const text = readFileSync(join(import.meta.dirname, '../../docs/sandbox.md'), 'utf8')
const [seed, faults] = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(
  ([, json]) => JSON.parse(json!) as unknown,
)

describe('docs/sandbox.md', () => {
  for (const document of SANDBOX_DOCUMENTS) {
    it(`has every row of: ${document.section}`, () => {
      const hint = 'run: npm run docs'
      assert.ok(text === expectedText(document, text), hint)
    })
  }

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
