import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { MESSAGE_TYPES } from '../../src/domain/messages/messages.ts'

const root = join(import.meta.dirname, '../..')
const DOC = readFileSync(join(root, 'docs/bus.md'), 'utf8')
const ROW = /^\| `([a-z-]+)` \| ([^|]+) \| [^|]+ \| `/gm

it('lists every message type once and marks those that no role of ours sends', () => {
  const code = globSync('src/**/*.ts', { cwd: root })
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n')
  const rows = [...DOC.matchAll(ROW)].map(([, type, sender]) => [type, sender!.trim()] as const)
  assert.deepEqual(rows.map(([type]) => type).sort(), MESSAGE_TYPES.toSorted())
  for (const [type, sender] of rows) {
    const isSent = code.includes(`type: '${type}'`)
    assert.equal(sender !== 'foreign senders only', isSent, `${type} is sent by ${sender}`)
  }
})
