// Statuses and events in words: every one that the engine knows has them, and programs keep the API's names.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { statusIn } from '../../../src/cli/commands/words.ts'
import { makeShow } from '../../../src/cli/terminal/show.ts'
import { type Entity, STATUSES, TRANSITIONS } from '../../../src/domain/state/transitions.ts'
import { eventWords, statusesByWord, statusWord } from '../../../src/domain/state/words.ts'
import { recordingIo } from '../recording-io.ts'

const ENTITIES = Object.keys(TRANSITIONS) as Entity[]

describe('words', () => {
  it('say every transition in the past, not by its name in the table', () => {
    const names = ENTITIES.flatMap((entity) =>
      Object.keys(TRANSITIONS[entity]).map((event) => [entity, event] as const),
    )
    const raw = names
      .map(([entity, event]) => [`${entity} ${event}`, eventWords(entity, event)])
      .filter(([name, words]) => words === name!.replaceAll('_', ' '))
    assert.deepEqual(raw, [])
    assert.equal(eventWords('phase', 'reopen'), 'phase reopened')
    assert.equal(eventWords('member', 'retry'), 'retried')
    assert.equal(eventWords('batch', 'held'), 'batch held')
  })

  it('say every status without underscores, and lead back to it', () => {
    for (const entity of ENTITIES) {
      const words = STATUSES[entity].map((status) => statusWord(entity, status))
      assert.equal(new Set(words).size, words.length, `${entity}: ${words.join(', ')}`)
      assert.doesNotMatch(words.join(' '), /_|dispatched/)
      for (const [word, status] of Object.entries(statusesByWord(entity)))
        assert.equal(statusWord(entity, status), word)
    }
  })

  it('are for tables: CSV and JSON keep the status', async () => {
    const rows = [{ status: 'dispatched' }]
    const listing = { whole: { rows }, rows, columns: [['STATUS', statusIn('phase', 'status')]] }
    const shown = async (format: 'table' | 'csv' | 'json') => {
      const io = recordingIo({})
      await makeShow(format, io).list({ ...listing, empty: '' } as never)
      return io.outText()
    }
    assert.match(await shown('table'), /^STATUS\nrunning\n$/)
    assert.match(await shown('csv'), /\ndispatched\r?\n$/)
    assert.match(await shown('json'), /"dispatched"/)
  })
})
